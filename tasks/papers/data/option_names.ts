/** Names of the options of readers and generators of the papers' data, for `checkOptions`. */
import type { OptionNames } from "../../../src/device/options.ts";
import type { ChannelStatistics, Splits } from "../../../src/data/series.ts";
import type { DynamicsOptions, RepeatCopyOptions } from "./dynamics.ts";
import type { WindowOptions } from "./ett.ts";
import type { RecallSizes } from "./recall.ts";
import type { SepsisOptions } from "./sepsis.ts";

const dynamicsOptionNames: OptionNames<DynamicsOptions> = { regime: "optional", length: "optional" };

export const massSpringDamperOptionNames: OptionNames<DynamicsOptions & { variesInitial?: boolean }> = {
  ...dynamicsOptionNames,
  variesInitial: "optional",
};

export const lotkaVolterraOptionNames: OptionNames<DynamicsOptions & { ranges?: "paper" | "code" }> = {
  ...dynamicsOptionNames,
  ranges: "optional",
};

export const repeatCopyOptionNames: OptionNames<RepeatCopyOptions> = {
  shown: "optional",
  spacing: "optional",
  copies: "optional",
  separator: "optional",
};

export const sineWaveOptionNames: OptionNames<{ length?: number }> = { length: "optional" };

const windowOptionNames: OptionNames<WindowOptions> = {
  context: "required",
  horizon: "required",
  every: "optional",
};

export const ettWindowOptionNames: OptionNames<
  WindowOptions & { hours?: Splits<number>; statistics?: readonly ChannelStatistics[] }
> = { ...windowOptionNames, hours: "optional", statistics: "optional" };

export const cutWindowOptionNames: OptionNames<WindowOptions & { from?: number; to?: number }> = {
  ...windowOptionNames,
  from: "optional",
  to: "optional",
};

export const recallSizeNames: OptionNames<RecallSizes> = {
  keys: "optional",
  values: "optional",
  writes: "optional",
  hold: "optional",
  length: "required",
};

export const sepsisOptionNames: OptionNames<SepsisOptions> = { marks: "optional" };
