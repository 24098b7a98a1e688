/** Names of the options of training, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { RunConfig } from "./config.ts";
import type { TrainOptions } from "./loop.ts";

export const executeOptionNames: OptionNames<
  Pick<TrainOptions, "signal" | "onEpoch" | "onProgress"> & {
    isLocked?: boolean;
    onWarning?: (line: string) => void;
  }
> = {
  signal: "optional",
  onEpoch: "optional",
  onProgress: "optional",
  isLocked: "optional",
  onWarning: "optional",
};

export const profileOptionNames: OptionNames<Pick<TrainOptions, "batchSize" | "key">> = {
  batchSize: "required",
  key: "required",
};

export const trainOptionNames: OptionNames<TrainOptions> = {
  ...profileOptionNames,
  epochs: "required",
  folder: "required",
  resume: "optional",
  metadata: "optional",
  onResume: "optional",
  signal: "optional",
  onEpoch: "optional",
  onProgress: "optional",
};

export const runConfigNames: OptionNames<RunConfig> = {
  experiment: "required",
  device: "required",
  blas: "optional",
  seed: "required",
  epochs: "required",
  batchSize: "required",
  learningRate: "required",
  hidden: "required",
  data: "optional",
  drop: "optional",
  width: "optional",
  model: "optional",
  method: "optional",
  stepSize: "optional",
  recipe: "optional",
  dataSeed: "optional",
  positiveWeight: "optional",
  window: "optional",
  signatureDepth: "optional",
  clipWeights: "optional",
  task: "optional",
  horizon: "optional",
  depth: "optional",
  heads: "optional",
  feedForward: "optional",
  samples: "optional",
  length: "optional",
  context: "optional",
  patience: "optional",
  balance: "optional",
  online: "optional",
  intensity: "optional",
  folds: "optional",
  fold: "optional",
  season: "optional",
  table: "optional",
  scaling: "optional",
  smooth: "optional",
};
