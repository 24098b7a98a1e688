/** Names of the options of models with a diagonal transition, for `checkOptions`. */
import type { OptionNames } from "../../device/options.ts";
import { forecasterBaseOptionNames, sequenceOptionNames } from "../option_names.ts";
import type { StateSpaceForecasterOptions } from "./forecaster.ts";
import type { LRUSizes } from "./lru.ts";
import type { MambaSizes } from "./mamba.ts";
import type { S4DSizes } from "./s4d.ts";
import type { S5Sizes } from "./s5.ts";
import type { StateSpaceOptions, StateSpaceSizes } from "./stack.ts";

const stateSpaceSizeNames: OptionNames<StateSpaceSizes> = {
  modelDim: "required",
  layers: "optional",
  dtype: "optional",
};

const stateSpaceOptionNames: OptionNames<StateSpaceOptions> = {
  ...stateSpaceSizeNames,
  ...sequenceOptionNames,
  pooling: "optional",
};

export const s4dOptionNames: OptionNames<StateSpaceOptions & S4DSizes> = {
  ...stateSpaceOptionNames,
  stateSize: "optional",
  initialization: "optional",
  stepSizes: "optional",
};

export const lruOptionNames: OptionNames<StateSpaceOptions & LRUSizes> = {
  ...stateSpaceOptionNames,
  stateSize: "optional",
  radius: "optional",
  maxPhase: "optional",
};

export const s5OptionNames: OptionNames<StateSpaceOptions & S5Sizes> = {
  ...stateSpaceOptionNames,
  stateSize: "optional",
  blocks: "optional",
  stepSizes: "optional",
};

export const mambaOptionNames: OptionNames<StateSpaceOptions & MambaSizes> = {
  ...stateSpaceOptionNames,
  stateSize: "optional",
  expand: "optional",
  convolution: "optional",
  stepRank: "optional",
  stepSizes: "optional",
};

export const stateSpaceForecasterOptionNames: OptionNames<StateSpaceForecasterOptions> = {
  ...forecasterBaseOptionNames,
  ...stateSpaceSizeNames,
  cell: "required",
  stateSize: "optional",
};
