/** Names of the options of readers and generators of data, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { DynamicsOptions, RepeatCopyOptions } from "./dynamics.ts";
import type { WindowOptions } from "./ett.ts";
import type { MfccOptions } from "./mfcc.ts";
import type { RecallSizes } from "./recall.ts";
import type { SepsisOptions } from "./sepsis.ts";
import type { ChannelStatistics, Splits } from "./series.ts";
import type { SpiralOptions } from "./spirals.ts";
import type { ReadOptions, TableOptions } from "./table/options.ts";

export const tableOptionNames: OptionNames<TableOptions> = {
  series: "optional",
  time: "optional",
  target: "optional",
  group: "optional",
  static: "optional",
  known: "optional",
  category: "optional",
  ignore: "optional",
  wide: "optional",
  timeUnit: "optional",
  zone: "optional",
  duplicates: "optional",
  missing: "optional",
  encoding: "optional",
  delimiter: "optional",
  decimal: "optional",
  query: "optional",
};

export const readTableOptionNames: OptionNames<TableOptions & ReadOptions> = {
  ...tableOptionNames,
  targets: "optional",
  columns: "optional",
  numericTimes: "optional",
};

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

export const splitShareNames: OptionNames<{ train: number; validation: number }> = {
  train: "required",
  validation: "required",
};

export const mfccOptionNames: OptionNames<MfccOptions> = {
  sampleRate: "optional",
  coefficients: "optional",
  windowLength: "optional",
  hopLength: "optional",
  mels: "optional",
};

export const recallSizeNames: OptionNames<RecallSizes> = {
  keys: "optional",
  values: "optional",
  writes: "optional",
  hold: "optional",
  length: "required",
};

export const sepsisOptionNames: OptionNames<SepsisOptions> = { marks: "optional" };

export const spiralOptionNames: OptionNames<SpiralOptions> = {
  length: "optional",
  noise: "optional",
  turns: "optional",
  decay: "optional",
};
