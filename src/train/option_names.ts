/** Names of the options of training, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { TrainOptions } from "./loop.ts";

export const executeOptionNames: OptionNames<
  Pick<TrainOptions, "signal" | "onEpoch" | "onProgress"> & {
    isLocked?: boolean;
    onWarning?: (line: string) => void;
    onPlan?: (line: string) => void;
    onEpochs?: (epochs: number) => void;
  }
> = {
  signal: "optional",
  onEpoch: "optional",
  onProgress: "optional",
  isLocked: "optional",
  onWarning: "optional",
  onPlan: "optional",
  onEpochs: "optional",
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
  onSplit: "optional",
};
