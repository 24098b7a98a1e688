/** Configuration of a run, in `config.json`. */
import type { DeviceChoice } from "../../device/choice.ts";
import { OptionError, WeftError } from "../../device/errors.ts";
import { readTextIfPresent } from "../../files/disk.ts";
import { whyNoFolder } from "../../files/disk.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import {
  checkValues,
  type Experiment,
  optionsOf,
  type RunSettings,
  settingsOf,
  shortJson,
} from "../experiment.ts";
import type { RunFolder } from "./run_folder.ts";

/** Configuration of a run: its experiment, its device, and the values of the experiment's options. */
export interface RunConfig extends RunSettings {
  /** Name of the experiment. */
  readonly experiment: string;
  /** Device of the run. */
  readonly device: DeviceChoice;
  /** Native library for large matrix products on the CPU, as for `init`. */
  readonly blas?: string;
  /** Path of the data, for experiments that read files. */
  readonly data?: string;
  /** Path of a separate validation set. */
  readonly validation?: string;
  /** Path of a separate test set. */
  readonly test?: string;
  /** Values of the experiment's options. */
  readonly [option: string]: unknown;
}

/** Settings that are paths of the run's data. */
export const dataPaths = ["data", "validation", "test"] as const;

/** Settings that may change when a run is resumed: they do not affect the weights so far. */
export const changeable: readonly string[] = ["device", "blas", "epochs", ...dataPaths];

/**
 * Makes the configuration of a new run.
 *
 * @param chosen Values of options, by name. The other options have their defaults.
 * @throws {OptionError} If an option does not exist, a value is out of range, or options are incompatible.
 *
 * @example
 * ```ts ignore
 * const run = await startRun(experiment, configOf(experiment, { epochs: 5 }), "runs");
 * ```
 */
export function configOf(experiment: Experiment, chosen: Readonly<Record<string, unknown>> = {}): RunConfig {
  const { device, seed, ...settings } = settingsOf(experiment, chosen);
  return { experiment: experiment.name, device, seed, ...settings } as RunConfig;
}

/**
 * Reads the configuration of a run.
 *
 * @param experiments Known experiments.
 * @throws {WeftError} If the configuration is missing or damaged, its experiment is unknown, or another
 * version of Weft wrote it.
 */
export async function readRunConfig(
  folder: RunFolder,
  experiments: readonly Experiment[],
): Promise<RunConfig> {
  const text = await readTextIfPresent(folder.config);
  if (text === undefined) {
    const fault = await whyNoFolder(folder.path);
    const reason = fault ? `: ${fault}` : ", since it has no config.json";
    const expected = "a folder such as runs/<experiment>/<time>";
    throw new WeftError(
      "unreadable-file",
      `${folder.path}: not a run's folder${reason}; expected ${expected}`,
      { expected },
    );
  }
  const config = parseJson(text);
  if (!isRecord(config)) {
    throw new WeftError("damaged-file", `${folder.config}: damaged: expected a JSON object`, {
      expected: "a JSON object",
    });
  }
  const damaged = (option: string, value: unknown, expected: string) =>
    new WeftError(
      "damaged-file",
      `${folder.config}: damaged: ${option} is ${shortJson(value)}, expected ${expected}`,
      { option, expected },
    );
  const { experiment: name, ...settings } = config;
  const names = experiments.map(({ name }) => name).join(", ");
  if (typeof name !== "string") throw damaged("experiment", name, `one of ${names}`);
  const experiment = experiments.find((experiment) => experiment.name === name);
  if (!experiment) {
    throw new WeftError(
      "unknown-experiment",
      `${folder.config}: experiment is ${shortJson(name)}, and this program has no such experiment`,
      {
        expected: names,
        fixes: [
          "use the commands of the program that trained the run, such as deno run -A <program> predict <run>",
        ],
      },
    );
  }
  try {
    checkValues(experiment, settings);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const { code, option, expected, message } = error;
    if (code !== "unknown-option") {
      throw new WeftError("damaged-file", `${folder.config}: damaged: ${message}`, { option, expected });
    }
    throw new WeftError(
      "unsupported-version",
      `${folder.config}: ${message}; the run was started with another version of Weft`,
      {
        option,
        expected: `a version in which ${experiment.name} has the option ${option}`,
        fixes: ["train again"],
      },
    );
  }
  for (const name of ["seed", "device", "epochs", "batchSize", "learningRate"]) {
    const { expected, default: value } = optionsOf(experiment)[name];
    const isOptional = name === "epochs" && value === undefined;
    if (config[name] === undefined && !isOptional) throw damaged(name, undefined, expected);
  }
  return config as unknown as RunConfig;
}

/** Settings that affect a run's weights, as text for the metadata of the weights. */
export function sealedSettings(config: RunConfig): string {
  const fixed = Object.entries(config).filter(([name, value]) =>
    value !== undefined && !changeable.includes(name)
  );
  return JSON.stringify(Object.fromEntries(fixed.sort(([a], [b]) => a < b ? -1 : 1)));
}

/**
 * Rejects weights of a run with other settings.
 *
 * @param sealed Settings from the metadata of the weights.
 */
export function checkSettings(folder: RunFolder, config: RunConfig, file: string, sealed?: string): void {
  const settings = sealedSettings(config);
  if (sealed === settings) return;
  const [trained, current] = [sealed, settings].map((text) => parseJson(text ?? "") ?? {}) as Record<
    string,
    unknown
  >[];
  // Compare complete values: long values may differ only at the end.
  const text = (value: unknown) => JSON.stringify(value) ?? "missing";
  const name = Object.keys({ ...trained, ...current }).find((name) =>
    text(trained[name]) !== text(current[name])
  );
  throw sealed === undefined || name === undefined
    ? new WeftError("damaged-file", `${file}: damaged: the metadata have no settings`)
    : new WeftError(
      "mismatched-weights",
      `${folder.config}: ${name} is ${text(current[name])}, but ${file} was trained with ${
        text(trained[name])
      }`,
    );
}
