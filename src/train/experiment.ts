/** Experiments: a problem, a model for it, and options of both. */
import { checkOptions, type OptionNames } from "../device/options.ts";
import { deviceChoices } from "../device/choice.ts";
import {
  choiceOption,
  defaultsOf,
  numberOption,
  type OptionSchema,
  sizeOption,
  textOption,
} from "./option.ts";
import { OptionError } from "./option_error.ts";
import type { Task, WeightedModel } from "./task.ts";

/** Settings that every run has. */
export interface RunSettings {
  /** Seed of data, initial parameters and the order of samples, a whole number from 0: the same seed gives the same run. */
  readonly seed: number;
  /** Number of passes over the training set, at least 1. */
  readonly epochs: number;
  /** Number of samples of a batch, at least 1. */
  readonly batchSize: number;
  /** Learning rate of the optimiser, above 0. */
  readonly learningRate: number;
}

/** Record of a run's training data, written into `data.json`: plain JSON. */
export type DataDescription = Readonly<Record<string, unknown>>;

/**
 * A problem and a model for it. A program that defines one gets the commands of Weft for it: see `runCommands` of
 * `@weft/weft/commands`.
 *
 * `Settings` are the values of its options; `Model` is what {@linkcode Experiment.open} returns.
 */
// deno-lint-ignore no-explicit-any
export interface Experiment<Settings = any, Model extends WeightedModel = any> {
  /** Name in `deno task train <name>`. */
  readonly name: string;
  /** Description in a line. */
  readonly summary: string;
  /** Options beside those that every run has, `seed` and `device`; among them {@linkcode trainingOptions}. */
  readonly options: OptionSchema;
  /** Lines about defaults that depend on other options, for help. */
  readonly notes?: readonly string[];
  /** Defaults that depend on other options, such as the learning rate of a model: they replace those of the options. */
  defaultsFor?(chosen: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /**
   * Rejects options that do not fit together.
   *
   * @param chosen Those that were chosen, where the others are defaults.
   * @throws {OptionError} If an option has no effect beside the others.
   */
  check?(settings: Settings & RunSettings, chosen?: Readonly<Record<string, unknown>>): void;
  /**
   * Reads or makes the data, and makes the model, on the current device.
   *
   * @param record Record of the data that the run was started with, when it is resumed or tested: the data must be the same.
   * @throws {Error} If the data differ from the record.
   */
  // deno-lint-ignore no-explicit-any
  prepare(settings: Settings & RunSettings, record?: any): Promise<Task<any>> | Task<any>;
  /** Rejects a record of data that this version cannot read. @param file Its path, for the message. */
  checkRecord?(record: DataDescription, file: string): void;
  /** Makes the model for new data, from the record of those that it was trained on. */
  // deno-lint-ignore no-explicit-any
  open?(settings: Settings & RunSettings, record: any): Model;
}

/** Options that every run has beside those of its experiment. */
export const runOptions: OptionSchema = {
  seed: numberOption(
    { group: "run", help: "seed of data, parameters and order of samples", default: 0 },
    { from: 0, whole: true },
  ),
  device: choiceOption({
    group: "run",
    help: "device that computes; auto: a GPU if there is one",
    default: "auto",
  }, deviceChoices),
  blas: textOption({
    group: "run",
    help: "native library for large products: a path, or auto",
  }, "library"),
};

const trainingNames: OptionNames<Omit<RunSettings, "seed">> = {
  epochs: "required",
  batchSize: "required",
  learningRate: "required",
};

/** The options of training that every experiment has, with its defaults. */
export function trainingOptions(
  defaults: Omit<RunSettings, "seed">,
): OptionSchema {
  checkOptions("trainingOptions", defaults, trainingNames);
  const { epochs, batchSize, learningRate } = defaults;
  return {
    epochs: sizeOption({ group: "training", help: "passes over the training set", default: epochs }),
    batchSize: sizeOption({ group: "training", help: "samples of a batch", default: batchSize }),
    learningRate: numberOption(
      { group: "training", help: "learning rate of the optimiser", default: learningRate },
      { above: 0 },
    ),
  };
}

/** All options of a run of an experiment: its own, then those that every run has. */
export function optionsOf({ options }: Experiment): OptionSchema {
  return { ...options, ...runOptions };
}

/**
 * The settings of a run: what was chosen, and defaults.
 *
 * @param chosen Values of options, by name.
 * @throws {OptionError} If the experiment has no such option, a value is out of range, or options do not fit together.
 */
export function settingsOf(
  experiment: Experiment,
  chosen: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> & RunSettings {
  const given = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
  checkValues(experiment, given);
  const settings = {
    ...defaultsOf(optionsOf(experiment)),
    ...experiment.defaultsFor?.(given),
    ...given,
  } as Readonly<Record<string, unknown>> & RunSettings;
  experiment.check?.(settings, given);
  return settings;
}

/**
 * Rejects a configuration with an option that its experiment does not have, and names the nearest one.
 *
 * @throws {TypeError} With the unknown option.
 */
export function checkConfigNames(operation: string, experiment: Experiment, config: object): void {
  const names = Object.entries(optionsOf(experiment)).map((
    [name, { within = name }],
  ) => [within, "optional"]);
  const known = Object.fromEntries([["experiment", "required"], ...names]);
  checkOptions(operation, config as Record<string, unknown>, known as OptionNames<Record<string, unknown>>);
}

/** A value of an option, and the object of the configuration that holds it. */
type Placed = readonly [name: string, value: unknown, within: string | undefined];

/** Values by option: those of a nested object, such as the table's, too. */
export function flattenSettings(settings: Readonly<Record<string, unknown>>, schema: OptionSchema): Placed[] {
  const nested = new Set(Object.values(schema).flatMap(({ within }) => within ?? []));
  return Object.entries(settings).flatMap(([name, value]): Placed[] =>
    nested.has(name) && typeof value === "object" && value !== null
      ? Object.entries(value).map(([inner, innerValue]) => [inner, innerValue, name])
      : [[name, value, undefined]]
  );
}

/** @throws {OptionError} If a value is not one of the experiment's options, or out of range. */
export function checkValues(experiment: Experiment, values: Readonly<Record<string, unknown>>): void {
  const schema = optionsOf(experiment);
  const given = flattenSettings(values, schema).filter(([, value]) => value !== undefined);
  const isKnown = ([name, , within]: Placed) => Object.hasOwn(schema, name) && schema[name].within === within;
  const unknown = given.filter((one) => !isKnown(one)).map(([name]) => name);
  if (unknown.length > 0) {
    throw new OptionError(
      "unknown-option",
      unknown[0],
      (write) =>
        `${experiment.name} has no option ${unknown.map(write).join(", ")}; it has ${
          Object.keys(experiment.options).map(write).join(", ")
        }`,
    );
  }
  for (const [name, value] of given) {
    if (schema[name].accepts(value)) continue;
    throw new OptionError(
      "invalid-option",
      name,
      (write) =>
        `${experiment.name}: ${write(name)} is ${shortJson(value)}, expected ${schema[name].expected}`,
    );
  }
}

/** A value in few words, for a message. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/**
 * An experiment by its name.
 *
 * @throws {OptionError} With the names of those that exist.
 */
export function experimentNamed(experiments: readonly Experiment[], name: string): Experiment {
  const found = experiments.find((experiment) => experiment.name === name);
  if (found) return found;
  throw new OptionError(
    "unknown-experiment",
    undefined,
    () =>
      `unknown experiment "${name}"; known experiments: ${experiments.map(({ name }) => name).join(", ")}`,
  );
}
