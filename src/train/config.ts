/** Configuration of a run, in `config.json`. */
import { taskKinds } from "./predictions.ts";
import { type Bounds, describeBounds, isWithin, size } from "./bounds.ts";
import { type Settings, specialSettings } from "./experiments/experiment.ts";
import { horizonForms, isHorizon } from "./experiments/horizon.ts";
import { recipes } from "./experiments/recipe.ts";
import { experiments } from "./experiments/registry.ts";
import { type DeviceChoice, deviceChoices } from "../device/choice.ts";
import { isTableOptions } from "../data/table/options.ts";
import { readTextIfPresent, whyNoFolder } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import type { RunFolder } from "./run_folder.ts";

/** Configuration of a run. */
export interface RunConfig extends Settings {
  /** Name of the experiment. */
  readonly experiment: string;
  /** Device that the run computes on. */
  readonly device: DeviceChoice;
  /** Native library for large matrix products on the CPU, as `init` takes it. */
  readonly blas?: string;
}

/** Settings that are numbers. */
export type NumberSetting = {
  [Name in keyof Settings]-?: Required<Settings>[Name] extends number ? Name : never;
}[keyof Settings];

const seed: Bounds = { from: 0, whole: true };

/** Range of each setting that is a number, and, of those that are options of `deno task train` by their names, a description. */
export const settingBounds: Readonly<Record<NumberSetting, Bounds & { readonly description?: string }>> = {
  seed,
  epochs: { ...size, description: "passes over the training data" },
  batchSize: { ...size, description: "samples of a step" },
  learningRate: { above: 0, description: "length of a step" },
  hidden: { ...size, description: "channels of the hidden state" },
  drop: { from: 0, below: 1, description: "share of observations to make missing" },
  stepSize: { above: 0, description: "length of the solver's steps, in observations" },
  window: {
    ...size,
    description: "observations from one window to the next, for models along log-signatures",
  },
  signatureDepth: {
    from: 1,
    below: 5,
    whole: true,
    description: "depth of log-signatures, for the same models",
  },
  dataSeed: { ...seed, description: "decides data, split and dropped observations instead of the seed" },
  positiveWeight: { above: 0, description: "how much a series of the second of two classes counts" },
  width: { ...size, description: "features of a hidden layer of a vector field that is a network" },
  depth: {
    ...size,
    description: "hidden layers of WARP's root network or of a vector field, or layers of fast weights",
  },
  heads: { ...size, description: "of fast weights" },
  feedForward: { ...size, description: "features of fast weights' block" },
  samples: { ...size, description: "series that are made, or taken of the data, to learn from" },
  length: { from: 2, whole: true, description: "observations of a series that is made" },
  clipWeights: { from: 0, description: "bounds of WARP's weights; 0 for none" },
  context: { from: 2, whole: true, description: "how much a forecast starts from" },
  season: { ...size, description: "after how many steps series resemble themselves" },
  patience: { ...size, description: "end when validation has not improved for so long" },
  folds: { from: 2, whole: true, description: "train so often, each time with another part to test" },
  fold: seed,
};

/** Settings that may change when a run goes on: the weights so far do not depend on them. */
export const changeable: readonly (keyof RunConfig)[] = ["device", "blas", "epochs", "data"];

const optional: readonly string[] = [...specialSettings, "blas"];
const choices: Readonly<Record<string, readonly string[]>> = {
  experiment: experiments.map(({ name }) => name),
  device: deviceChoices,
  recipe: recipes,
  scaling: ["standard", "robust"] satisfies Settings["scaling"][],
  task: taskKinds,
};

/**
 * The configuration that a run was started with.
 *
 * @throws {Error} If there is none, or it is damaged.
 */
export async function readRunConfig(folder: RunFolder): Promise<RunConfig> {
  const text = await readTextIfPresent(folder.config);
  if (text === undefined) {
    const found = await whyNoFolder(folder.path);
    const reason = found ? `: ${found}` : ", since it has no config.json";
    throw new Error(`${folder.path}: not a run's folder${reason}; expected one as runs/<experiment>/<time>`);
  }
  const config = parseJson(text);
  if (!isRecord(config)) throw new Error(`${folder.config}: damaged: expected a JSON object`);
  const expect = (name: string, isRight: boolean, expected: string) => {
    const isLeftOut = config[name] === undefined && optional.includes(name);
    if (isRight || isLeftOut) return;
    throw new Error(`${folder.config}: damaged: ${name} is ${shortJson(config[name])}, expected ${expected}`);
  };
  for (const [name, bounds] of Object.entries(settingBounds)) {
    expect(name, isWithin(config[name], bounds), `a ${describeBounds(bounds)}`);
  }
  for (const [name, known] of Object.entries(choices)) {
    expect(name, known.includes(config[name] as string), `one of ${known.join(", ")}`);
  }
  expect("horizon", isHorizon(config.horizon), `a ${horizonForms}`);
  for (const name of ["data", "model", "method", "blas"]) {
    expect(name, typeof config[name] === "string", "a text");
  }
  for (const name of ["smooth", "balance", "online", "intensity"]) {
    expect(name, typeof config[name] === "boolean", "true or false");
  }
  expect("table", isTableOptions(config.table), "options of a table");
  return config as unknown as RunConfig;
}

/**
 * The settings that a run's weights depend on, as text that goes into their file.
 */
export function sealedSettings(config: RunConfig): string {
  const fixed = Object.entries(config).filter(([name, value]) =>
    value !== undefined && !changeable.includes(name as keyof RunConfig)
  );
  return JSON.stringify(Object.fromEntries(fixed.sort(([a], [b]) => a < b ? -1 : 1)));
}

/**
 * Refuses weights that were made with other settings.
 *
 * @param sealed Those settings, from the weights' file.
 */
export function checkSettings(folder: RunFolder, config: RunConfig, file: string, sealed?: string): void {
  const settings = sealedSettings(config);
  if (sealed === settings) return;
  const [made, found] = [sealed, settings].map((text) => parseJson(text ?? "") ?? {}) as Record<
    string,
    unknown
  >[];
  // Whole, as long ones may differ at their end alone.
  const text = (value: unknown) => JSON.stringify(value) ?? "missing";
  const name = Object.keys({ ...made, ...found }).find((name) => text(made[name]) !== text(found[name]));
  throw new Error(
    sealed === undefined || name === undefined
      ? `${file}: damaged: the settings that its weights were made with are missing`
      : `${folder.config}: ${name} is ${text(found[name])}, and was ${
        text(made[name])
      } when ${file} was made`,
  );
}

/** A value in few words, for a message. */
function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
