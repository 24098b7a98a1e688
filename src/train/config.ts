/** Configuration of a run, in `config.json`. */
import { taskKinds } from "./predictions.ts";
import { type Bounds, describeBounds, isWithin } from "./bounds.ts";
import { type Settings, specialSettings } from "./experiments/experiment.ts";
import { horizonForms, isHorizon } from "./experiments/horizon.ts";
import { recipes } from "./experiments/recipe.ts";
import { experiments } from "./experiments/registry.ts";
import { isTableOptions } from "../data/table/options.ts";
import { readTextIfPresent } from "../files/disk.ts";
import { describe, isRecord, parseJson } from "../files/json.ts";
import type { RunFolder } from "./run_folder.ts";

/** Device that a run computes on: `"auto"` takes a hardware GPU if there is one. */
export type DeviceChoice = "auto" | "webgpu" | "cpu";

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

/** Range of each setting that is a number. */
export const settingBounds: Readonly<Record<NumberSetting, Bounds>> = {
  seed: { from: 0, whole: true },
  epochs: { from: 1, whole: true },
  batchSize: { from: 1, whole: true },
  learningRate: { above: 0 },
  hidden: { from: 1, whole: true },
  drop: { from: 0, below: 1 },
  width: { from: 1, whole: true },
  stepSize: { above: 0 },
  clipWeights: { from: 0 },
  depth: { from: 1, whole: true },
  heads: { from: 1, whole: true },
  feedForward: { from: 1, whole: true },
  samples: { from: 1, whole: true },
  length: { from: 2, whole: true },
  dataSeed: { from: 0, whole: true },
  positiveWeight: { above: 0 },
  window: { from: 1, whole: true },
  signatureDepth: { from: 1, below: 5, whole: true },
  context: { from: 2, whole: true },
  season: { from: 1, whole: true },
  patience: { from: 1, whole: true },
  folds: { from: 2, whole: true },
  fold: { from: 0, whole: true },
};

/** Settings that may change when a run goes on: the weights so far do not depend on them. */
export const changeable: readonly (keyof RunConfig)[] = ["device", "blas", "epochs", "data"];

const optional: readonly string[] = [...specialSettings, "blas"];
const choices: Readonly<Record<string, readonly string[]>> = {
  experiment: experiments.map(({ name }) => name),
  device: ["auto", "webgpu", "cpu"] satisfies DeviceChoice[],
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
    throw new Error(
      `${folder.path}: not a run's folder, since it has no config.json; expected one as runs/<experiment>/<time>`,
    );
  }
  const config = parseJson(text);
  if (!isRecord(config)) throw new Error(`${folder.config}: damaged: expected a JSON object`);
  const expect = (name: string, isRight: boolean, expected: string) => {
    const isLeftOut = config[name] === undefined && optional.includes(name);
    if (isRight || isLeftOut) return;
    throw new Error(`${folder.config}: damaged: ${name} is ${describe(config[name])}, expected ${expected}`);
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
  const name = Object.keys({ ...made, ...found }).find((name) =>
    describe(made[name]) !== describe(found[name])
  );
  throw new Error(
    sealed === undefined || name === undefined
      ? `${file}: damaged: the settings that its weights were made with are missing`
      : `${folder.config}: ${name} is ${describe(found[name])}, and was ${
        describe(made[name])
      } when ${file} was made`,
  );
}
