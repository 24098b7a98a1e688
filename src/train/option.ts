/**
 * Options of experiments. An option has its valid values, its default and its help text. The command line,
 * the check of `config.json` and the documentation are made from them.
 */
import { checkOptions, type OptionNames } from "../device/options.ts";
import { numberOf } from "../data/format.ts";
import { type Bounds, describeBounds, isWithin, size } from "./bounds.ts";

/** Groups of options, in the order of the help text. */
export const optionGroups = ["data", "model", "training", "run"] as const;

/** A group of options. */
export type OptionGroup = typeof optionGroups[number];

/** An option of an experiment. */
export interface Option<Value = unknown> {
  /** Group of the option in help. */
  readonly group: OptionGroup;
  /** Description in the vocabulary of the field, without range and default. */
  readonly help: string;
  /** Placeholder of the value in help, such as `"number"`; `undefined` for a switch, which has no value. */
  readonly placeholder?: string;
  /** Valid values for an error message, such as `"a whole number of at least 1"`. */
  readonly expected: string;
  /**
   * Valid values for help, such as `"whole number of at least 1"`; `undefined` if the placeholder is
   * sufficient.
   */
  readonly range?: string;
  /** Default value. */
  readonly default?: Value;
  /** Default for help, if the configuration does not store the default. */
  readonly implied?: string;
  /** Object of the configuration that contains the value; by default the configuration itself. */
  readonly within?: string;
  /** Whether a value from a program or from `config.json` is valid. */
  accepts(value: unknown): boolean;
  /** Parses a text from the command line. The result may be invalid. */
  parse(text: string): unknown;
}

/** An option that always has a value. */
export type OptionWithDefault<Value> = Option<Value> & { readonly default: Value };

/** Options of an experiment, by name. */
export type OptionSchema = Readonly<Record<string, Option>>;

/** Type of an option's value. */
export type ValueOf<O> = O extends Option<infer Value> ? Value : never;

/** Values of a schema's options. Options with a default always have a value. */
export type SettingsOf<Schema extends OptionSchema> =
  & {
    readonly [Name in keyof Schema as Schema[Name] extends OptionWithDefault<unknown> ? Name : never]:
      ValueOf<
        Schema[Name]
      >;
  }
  & {
    readonly [Name in keyof Schema as Schema[Name] extends OptionWithDefault<unknown> ? never : Name]?:
      ValueOf<
        Schema[Name]
      >;
  };

/** Group, help and default of an option. */
export interface OptionText<Value> {
  /** Group of the option in help; `"model"` by default. */
  group?: OptionGroup;
  /** Description in the vocabulary of the field, without range and default. */
  help: string;
  /** Default value. */
  default?: Value;
  /** Default for help, if the configuration does not store the default. */
  implied?: string;
}

const optionTextNames: OptionNames<OptionText<unknown>> = {
  group: "optional",
  help: "required",
  default: "optional",
  implied: "optional",
};

/** Type of an option made from a text: with a default, it always has a value. */
export type OptionOf<Value, Text> = Text extends { default: Value } ? OptionWithDefault<Value>
  : Option<Value>;

/**
 * Makes a numeric option.
 *
 * @param bounds Range of the number; any finite number by default.
 *
 * @example
 * ```ts
 * import { numberOption } from "@weft/weft/train";
 *
 * const dropout = numberOption({ help: "dropout probability", default: 0.1 }, { from: 0, below: 1 });
 * console.log(dropout.expected, dropout.accepts(0.5), dropout.accepts(2));
 * ```
 */
export function numberOption<const Text extends OptionText<number>>(
  text: Text,
  bounds: Bounds = {},
): OptionOf<number, Text> {
  return makeNumberOption("numberOption", text, bounds);
}

/** Makes an option for an integer of at least 1, such as a number of features. */
export function sizeOption<const Text extends OptionText<number>>(text: Text): OptionOf<number, Text> {
  return makeNumberOption("sizeOption", text, size);
}

function makeNumberOption<Text extends OptionText<number>>(
  operation: string,
  text: Text,
  bounds: Bounds,
): OptionOf<number, Text> {
  checkOptions<OptionText<unknown>>(operation, text, optionTextNames);
  return {
    group: "model",
    ...text,
    placeholder: "number",
    expected: `a ${describeBounds(bounds)}`,
    range: describeBounds(bounds),
    accepts: (value: unknown) => isWithin(value, bounds),
    parse: (value: string) => numberOf(value.trim()),
  } as unknown as OptionOf<number, Text>;
}

/** Makes an option for a text, such as a path or a column name. @param placeholder Placeholder in help. */
export function textOption<const Text extends OptionText<string>>(
  text: Text,
  placeholder = "text",
): OptionOf<string, Text> {
  checkOptions<OptionText<unknown>>("textOption", text, optionTextNames);
  return {
    group: "model",
    ...text,
    placeholder,
    expected: "a text",
    accepts: (value: unknown) => typeof value === "string" && value !== "",
    parse: (value: string) => value,
  } as unknown as OptionOf<string, Text>;
}

/** Makes an option with a fixed set of texts. */
export function choiceOption<const Choice extends string, const Text extends OptionText<Choice>>(
  text: Text,
  choices: readonly Choice[],
): OptionOf<Choice, Text> {
  checkOptions<OptionText<unknown>>("choiceOption", text, optionTextNames);
  return {
    group: "model",
    ...text,
    placeholder: "name",
    expected: `one of ${choices.join(", ")}`,
    range: choices.join(", ").replace(/, ([^,]*)$/, " or $1"),
    accepts: (value: unknown) => choices.includes(value as Choice),
    parse: (value: string) => value,
  } as unknown as OptionOf<Choice, Text>;
}

/** Makes a switch, which is off by default. */
export function switchOption(text: Omit<OptionText<boolean>, "default">): Option<boolean> {
  checkOptions<OptionText<unknown>>("switchOption", text, optionTextNames);
  return {
    group: "model",
    ...text,
    expected: "true or false",
    accepts: (value) => typeof value === "boolean",
    parse: () => true,
  };
}

/** Makes an option for a list of texts, separated by commas on the command line. */
export function listOption(
  text: OptionText<readonly string[]>,
  placeholder = "names",
): Option<readonly string[]> {
  checkOptions<OptionText<unknown>>("listOption", text, optionTextNames);
  return {
    group: "model",
    ...text,
    placeholder,
    expected: `a list of ${placeholder}`,
    accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
    parse: (value) => value.split(",").map((item) => item.trim()).filter((item) => item !== ""),
  };
}

/**
 * Selects options of a schema.
 *
 * @param defaults Defaults that override those of the schema; `undefined` removes a default.
 */
export function pickOptions(
  schema: OptionSchema,
  names: readonly string[],
  defaults: Readonly<Record<string, unknown>> = {},
): OptionSchema {
  return Object.fromEntries(names.map((name) => {
    const option = schema[name];
    return [name, Object.hasOwn(defaults, name) ? { ...option, default: defaults[name] } : option];
  }));
}

/** Defaults of the options with a default, by name. */
export function defaultsOf(schema: OptionSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, option]) =>
      option.default === undefined ? [] : [[name, option.default]]
    ),
  );
}

/** Flag of an option on the command line: `learningRate` is `--learning-rate`. */
export function flag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
