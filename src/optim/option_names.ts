/** Names of the options of optimizers and schedules, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { AdamOptions } from "./adam.ts";
import type { OptimizerOptions } from "./optimizer.ts";
import type { PlateauOptions } from "./schedules.ts";
import type { SGDOptions } from "./sgd.ts";

export const optimizerOptionNames: OptionNames<OptimizerOptions> = {
  learningRate: "required",
  multipliers: "optional",
};

export const adamOptionNames: OptionNames<AdamOptions> = {
  ...optimizerOptionNames,
  betas: "optional",
  eps: "optional",
  weightDecay: "optional",
};

export const sgdOptionNames: OptionNames<SGDOptions> = {
  ...optimizerOptionNames,
  momentum: "optional",
  nesterov: "optional",
  weightDecay: "optional",
};

export const warmupOptionNames: OptionNames<{ steps: number; from?: number }> = {
  steps: "required",
  from: "optional",
};

export const cosineDecayOptionNames: OptionNames<{ steps: number; start?: number; minimum?: number }> = {
  steps: "required",
  start: "optional",
  minimum: "optional",
};

export const plateauOptionNames: OptionNames<PlateauOptions> = {
  factor: "optional",
  patience: "optional",
  minimum: "optional",
  threshold: "optional",
  mode: "optional",
  average: "optional",
};
