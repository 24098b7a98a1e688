/** Option names of the readers and generators of data, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { MfccOptions } from "./mfcc.ts";
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
  layout: "optional",
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

export const spiralOptionNames: OptionNames<SpiralOptions> = {
  length: "optional",
  noise: "optional",
  turns: "optional",
  decay: "optional",
};
