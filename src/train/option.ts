/**
 * Options of experiments. An option has its valid values, its default and its help text. The command line,
 * the check of `config.json` and the documentation are made from them.
 */
import { checkOptions, namesOf } from "../device/options.ts";
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

/** Options of an experiment, by name. */
export type OptionSchema = Readonly<Record<string, Option>>;

/** Group, help and default of an option. */
export interface OptionText<Value> extends Pick<Option<Value>, "help" | "default" | "implied"> {
  /** Group of the option in help; `"model"` by default. */
  group?: OptionGroup;
}

const optionTextNames = namesOf<OptionText<unknown>>()("group? help default? implied?");

/** Makes an option from its text and its kind: the expected values, the parser and the placeholder. */
function make<Value>(
  operation: string,
  text: OptionText<Value>,
  kind: Pick<Option<Value>, "expected" | "range" | "placeholder" | "accepts" | "parse">,
): Option<Value> {
  checkOptions<OptionText<unknown>>(operation, text, optionTextNames);
  return { group: "model", ...text, ...kind };
}

function ofNumbers(bounds: Bounds) {
  return {
    placeholder: "number",
    expected: `a ${describeBounds(bounds)}`,
    range: describeBounds(bounds),
    accepts: (value: unknown) => isWithin(value, bounds),
    parse: (value: string) => numberOf(value.trim()),
  };
}

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
export function numberOption(text: OptionText<number>, bounds: Bounds = {}): Option<number> {
  return make("numberOption", text, ofNumbers(bounds));
}

/** Makes an option for an integer of at least 1, such as a number of features. */
export function sizeOption(text: OptionText<number>): Option<number> {
  return make("sizeOption", text, ofNumbers(size));
}

/** Makes an option for a text, such as a path or a column name. @param placeholder Placeholder in help. */
export function textOption(text: OptionText<string>, placeholder = "text"): Option<string> {
  return make("textOption", text, {
    placeholder,
    expected: "a text",
    accepts: (value) => typeof value === "string" && value !== "",
    parse: (value) => value,
  });
}

/** Makes an option whose value is one of a fixed set of words. */
export function choiceOption<const Choice extends string>(
  text: OptionText<Choice>,
  choices: readonly Choice[],
): Option<Choice> {
  return make("choiceOption", text, {
    placeholder: "name",
    expected: `one of ${choices.join(", ")}`,
    range: choices.join(", ").replace(/, ([^,]*)$/, " or $1"),
    accepts: (value) => choices.includes(value as Choice),
    parse: (value) => value,
  });
}

/** Makes a switch, which is off by default. */
export function switchOption(text: Omit<OptionText<boolean>, "default">): Option<boolean> {
  return make("switchOption", text, {
    expected: "true or false",
    accepts: (value) => typeof value === "boolean",
    parse: () => true,
  });
}

/** Makes an option for a list of texts, separated by commas on the command line. */
export function listOption(
  text: OptionText<readonly string[]>,
  placeholder = "names",
): Option<readonly string[]> {
  return make("listOption", text, {
    placeholder,
    expected: `a list of ${placeholder}`,
    accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
    parse: (value) => value.split(",").map((item) => item.trim()).filter((item) => item !== ""),
  });
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
