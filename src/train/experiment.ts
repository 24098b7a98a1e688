/** Experiments: a problem, a model for it, and the options of both. */
import { checkOptions, hintFor, namesOf, type OptionNames } from "../device/options.ts";
import { deviceChoices } from "../device/choice.ts";
import {
  choiceOption,
  defaultsOf,
  numberOption,
  type OptionSchema,
  pickOptions,
  sizeOption,
  textOption,
} from "./option.ts";
import { OptionError } from "../device/errors.ts";
import type { Task, WeightedModel } from "./task.ts";

/** Settings of every run. */
export interface RunSettings {
  /**
   * Seed of data, initial parameters and the order of samples, an integer from 0. The same seed gives the
   * same run.
   */
  readonly seed: number;
  /** Number of epochs, at least 1. Without it, the task decides it. */
  readonly epochs?: number;
  /** Batch size, at least 1. */
  readonly batchSize: number;
  /** Learning rate of the optimiser, above 0. */
  readonly learningRate: number;
}

/** Record of a run's training data in `data.json`: plain JSON. */
export type DataDescription = Readonly<Record<string, unknown>>;

/**
 * A problem and a model for it. A program with an experiment can use the commands of Weft for it: see
 * `runCommands` of `@weft/weft/commands`.
 *
 * `Settings` are the values of the options; `Model` is the result of {@linkcode Experiment.open}.
 */
// deno-lint-ignore no-explicit-any
export interface Experiment<Settings = any, Model extends WeightedModel = any> {
  /** Name in `deno task train <name>`. */
  readonly name: string;
  /** Description in one line. */
  readonly summary: string;
  /**
   * Options in addition to `seed` and `device`, which every run has. They include
   * {@linkcode trainingOptions}.
   */
  readonly options: OptionSchema;
  /** Lines for help about defaults that depend on other options. */
  readonly notes?: readonly string[];
  /**
   * Defaults that depend on other options, such as the learning rate of a model. They override the defaults
   * of the options.
   */
  defaultsFor?(chosen: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /**
   * Rejects incompatible options.
   *
   * @param chosen The given options, without defaults.
   * @throws {OptionError} If an option has no effect in combination with the others.
   */
  check?(settings: Settings & RunSettings, chosen?: Readonly<Record<string, unknown>>): void;
  /**
   * Reads or generates the data, and makes the model on the current device.
   *
   * @param record Record of the run's original data, when a run is resumed or tested: the data must be the
   * same.
   * @throws {Error} If the data differ from the record.
   */
  // deno-lint-ignore no-explicit-any
  prepare(settings: Settings & RunSettings, record?: any): Promise<Task<any>> | Task<any>;
  /**
   * Loads what settings name besides the data, such as the file of a model.
   *
   * @param settings Given options, or the configuration of a run.
   * @returns The experiment that can use them; undefined if this one can.
   */
  load?(settings: Readonly<Record<string, unknown>>): Promise<Experiment<Settings, Model> | undefined>;
  /**
   * Files and folders besides the data that the experiment reads and writes, such as a cache. The commands keep the
   * permission for them.
   */
  caches?(settings: Settings & RunSettings): readonly string[];
  /** Rejects a data record that this version cannot read. @param file Path of the record, for the message. */
  checkRecord?(record: DataDescription, file: string): void;
  /** Makes the model for new data, from the record of its training data. */
  // deno-lint-ignore no-explicit-any
  open?(settings: Settings & RunSettings, record: any): Model | Promise<Model>;
}

/** Options of every run, in addition to those of its experiment. */
export const runOptions: OptionSchema = {
  seed: numberOption(
    { group: "run", help: "seed of data, parameters and order of samples", default: 0 },
    { from: 0, whole: true },
  ),
  device: choiceOption({
    group: "run",
    help: "device; auto: a GPU if a step is faster there",
    default: "auto",
  }, deviceChoices),
  blas: textOption({
    group: "run",
    help: "native library for large products: a path, or auto",
  }, "library"),
};

const training: OptionSchema = {
  epochs: sizeOption({ group: "training", help: "number of epochs", implied: "chosen by validation" }),
  batchSize: sizeOption({ group: "training", help: "batch size" }),
  learningRate: numberOption({ group: "training", help: "learning rate" }, { above: 0 }),
};

const trainingNames = namesOf<Omit<RunSettings, "seed">>()("epochs? batchSize learningRate");

/** Training options of every experiment, with the experiment's defaults. */
export function trainingOptions(defaults: Omit<RunSettings, "seed">): OptionSchema {
  checkOptions("trainingOptions", defaults, trainingNames);
  return pickOptions(training, Object.keys(training), { ...defaults });
}

/** All options of an experiment's runs: the options of the experiment, then those of every run. */
export function optionsOf({ options }: Experiment): OptionSchema {
  return { ...options, ...runOptions };
}

/**
 * Settings of a run: the given values and the defaults.
 *
 * @param chosen Values of options, by name.
 * @throws {OptionError} If an option does not exist, a value is out of range, or options are incompatible.
 */
export function settingsOf(
  experiment: Experiment,
  chosen: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> & RunSettings {
  const explicit = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
  checkValues(experiment, explicit);
  const settings = {
    ...defaultsOf(optionsOf(experiment)),
    ...experiment.defaultsFor?.(explicit),
    ...explicit,
  } as Readonly<Record<string, unknown>> & RunSettings;
  experiment.check?.(settings, explicit);
  return settings;
}

/**
 * Rejects a configuration with an unknown option. The message suggests the nearest name.
 *
 * @throws {OptionError} With the unknown option.
 */
export function checkConfigNames(operation: string, experiment: Experiment, config: object): void {
  const names = Object.entries(optionsOf(experiment)).map((
    [name, { within = name }],
  ) => [within, "optional"]);
  const accepted = Object.fromEntries([["experiment", "required"], ...names]);
  checkOptions(
    operation,
    config as Record<string, unknown>,
    accepted as OptionNames<Record<string, unknown>>,
  );
}

/** Value of an option, and the object of the configuration that contains the value. */
type Placed = readonly [name: string, value: unknown, within: string | undefined];

/** Values by option, including those in nested objects, such as the table's. */
function flattenSettings(settings: Readonly<Record<string, unknown>>, schema: OptionSchema): Placed[] {
  const nested = new Set(Object.values(schema).flatMap(({ within }) => within ?? []));
  return Object.entries(settings).flatMap(([name, value]): Placed[] =>
    nested.has(name) && typeof value === "object" && value !== null
      ? Object.entries(value).map(([inner, innerValue]) => [inner, innerValue, name])
      : [[name, value, undefined]]
  );
}

/** @throws {OptionError} If an option is unknown, or a value is out of range. */
export function checkValues(experiment: Experiment, values: Readonly<Record<string, unknown>>): void {
  const schema = optionsOf(experiment);
  const placed = flattenSettings(values, schema).filter(([, value]) => value !== undefined);
  const isInSchema = ([name, , within]: Placed) =>
    Object.hasOwn(schema, name) && schema[name].within === within;
  const unknown = placed.filter((one) => !isInSchema(one)).map(([name]) => name);
  if (unknown.length > 0) {
    const names = Object.keys(experiment.options);
    throw new OptionError(
      "unknown-option",
      (write) =>
        `${experiment.name} has no option ${unknown.map(write).join(", ")}; it has ${
          names.map(write).join(", ")
        }`,
      { option: unknown[0], expected: names.join(", ") },
    );
  }
  for (const [name, value] of placed) {
    if (schema[name].accepts(value)) continue;
    const { expected } = schema[name];
    throw new OptionError(
      "invalid-option",
      (write) => `${experiment.name}: ${write(name)} is ${shortJson(value)}, expected ${expected}`,
      { option: name, expected },
    );
  }
}

/** Formats a value as short JSON, for a message. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/**
 * Finds an experiment by name.
 *
 * @throws {OptionError} If the name is unknown. The message suggests the nearest name, or lists the names.
 */
export function experimentNamed(experiments: readonly Experiment[], name: string): Experiment {
  const experiment = experiments.find((one) => one.name === name);
  if (experiment) return experiment;
  const names = experiments.map(({ name }) => name);
  throw new OptionError("unknown-experiment", `unknown experiment "${name}"`, {
    expected: names.join(", "),
    fixes: [hintFor(name, names)],
  });
}

/**
 * The experiment of a run, with what its configuration names, such as the file of a model.
 *
 * @throws {OptionError} If the experiment is unknown.
 */
export async function loadExperiment(
  experiments: readonly Experiment[],
  config: { readonly experiment: string; readonly [option: string]: unknown },
): Promise<Experiment> {
  const experiment = experimentNamed(experiments, config.experiment);
  return await experiment.load?.(config) ?? experiment;
}
