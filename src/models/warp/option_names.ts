/** Names of the options of WARP, of its calls and of its analyses, for `checkOptions`. */
import type { OptionNames } from "../../device/options.ts";
import type { GradientDescentOptions } from "./analysis.ts";
import type { WARPCallOptions } from "./call.ts";
import type { WARPDecoding, WARPDynamicTanh } from "./readout.ts";
import type { WARPPositionalEncoding, WARPRootOptions } from "./root.ts";
import type { WARPOptions } from "./warp.ts";

export const warpOptionNames: OptionNames<WARPOptions> = {
  inputChannels: "required",
  outputChannels: "required",
  root: "required",
  output: "optional",
  physics: "optional",
  initial: "optional",
  initialization: "optional",
  trainingLength: "optional",
  time: "optional",
  indexing: "optional",
  transition: "optional",
  mode: "optional",
  bound: "optional",
  clipWeights: "optional",
  limit: "optional",
  leastDeviation: "optional",
  key: "required",
  dtype: "optional",
};

export const rootOptionNames: OptionNames<WARPRootOptions> = {
  width: "required",
  depth: "required",
  activation: "optional",
  frequencies: "optional",
  positions: "optional",
  previousInput: "optional",
  fixedTau: "optional",
};

export const positionOptionNames: OptionNames<WARPPositionalEncoding> = {
  channels: "required",
  base: "required",
};

export const transitionOptionNames: OptionNames<{ blocks?: number; rank?: number }> = {
  blocks: "optional",
  rank: "optional",
};

export const boundOptionNames: OptionNames<WARPDynamicTanh & { low?: number; high?: number }> = {
  low: "optional",
  high: "optional",
  a: "optional",
  b: "optional",
  alpha: "optional",
  beta: "optional",
};

export const warpCallNames: OptionNames<WARPCallOptions> = {
  states: "optional",
  start: "optional",
  context: "optional",
  length: "optional",
  pForcing: "optional",
  sample: "optional",
  key: "optional",
};

export const weightsCallNames: OptionNames<Pick<WARPCallOptions, "start">> = { start: "optional" };

export const decodingNames: OptionNames<Partial<Omit<WARPDecoding, "tau">>> = {
  input: "optional",
  first: "optional",
};

export const principalComponentsOptionNames: OptionNames<{ count?: number; iterations?: number }> = {
  count: "optional",
  iterations: "optional",
};

export const gradientDescentOptionNames: OptionNames<GradientDescentOptions> = {
  steps: "required",
  learningRate: "required",
  start: "optional",
};
