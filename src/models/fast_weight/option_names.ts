/** Names of the options of fast weight programmers and of their calls, for `checkOptions`. */
import type { OptionNames } from "../../device/options.ts";
import { hiddenLayerNames, parameterOptionNames } from "../../nn/option_names.ts";
import { cdeSolveOptionNames } from "../../solvers/option_names.ts";
import {
  betweenOptionNames,
  keyedReadoutNames,
  latentOptionNames,
  pathCallNames,
  sequenceOptionNames,
} from "../option_names.ts";
import type { FastWeightCallOptions } from "./along_control.ts";
import type { FastWeightCDEOptions } from "./cde.ts";
import type { FastWeightDirectMapOptions } from "./direct_map.ts";
import type { DiscreteFastWeightOptions, SequenceCallOptions } from "./discrete.ts";
import type { FastWeightModelOptions, FastWeightOptions } from "./fast_weight.ts";
import type { FastWeightLayerSizes } from "./heads.ts";
import type { LatentODERFWPOptions } from "./latent_ode_rfwp.ts";
import type { ODERFWPOptions } from "./ode_rfwp.ts";
import type { ODERecurrentOptions } from "./ode_recurrent_cell.ts";
import type { FastWeightRDEOptions } from "./rde.ts";
import type { DeltaRuleOptions, HebbRuleOptions, OjaRuleOptions } from "./rules.ts";

const layerSizeNames: OptionNames<FastWeightLayerSizes> = {
  modelDim: "required",
  heads: "required",
  layers: "optional",
  feedForward: "optional",
};

export const fastWeightModelOptionNames: OptionNames<FastWeightModelOptions> = {
  ...cdeSolveOptionNames,
  ...parameterOptionNames,
  ...layerSizeNames,
  inputChannels: "required",
  outputChannels: "required",
  controlsFrom: "optional",
  rule: "optional",
  slopeScale: "optional",
  staticFeatures: "optional",
  dropout: "optional",
};

export const fastWeightOptionNames: OptionNames<FastWeightOptions> = {
  ...fastWeightModelOptionNames,
  keysFrom: "optional",
  valuesFrom: "optional",
  normalizeValues: "optional",
  transposeQuery: "optional",
};

export const fastWeightCDEOptionNames: OptionNames<FastWeightCDEOptions> = {
  ...fastWeightModelOptionNames,
  keys: "optional",
  normalizeValues: "optional",
  transposeQuery: "optional",
};

export const fastWeightRDEOptionNames: OptionNames<FastWeightRDEOptions> = {
  ...fastWeightModelOptionNames,
  depth: "required",
  form: "optional",
  normalizeValues: "optional",
  queryFrom: "optional",
};

export const directMapOptionNames: OptionNames<FastWeightDirectMapOptions> = {
  ...cdeSolveOptionNames,
  ...parameterOptionNames,
  ...hiddenLayerNames,
  inputChannels: "required",
  outputChannels: "required",
  modelDim: "required",
  slopeScale: "optional",
  feedForward: "optional",
  controlsFrom: "optional",
  staticFeatures: "optional",
  dropout: "optional",
};

export const discreteOptionNames: OptionNames<DiscreteFastWeightOptions> = {
  ...sequenceOptionNames,
  ...layerSizeNames,
  dropout: "optional",
};

const recurrentOptionNames: OptionNames<ODERecurrentOptions> = {
  ...betweenOptionNames,
  ...parameterOptionNames,
  ...layerSizeNames,
  inputChannels: "required",
  rule: "optional",
  queryFeedback: "optional",
};

export const odeRFWPOptionNames: OptionNames<ODERFWPOptions> = {
  ...recurrentOptionNames,
  outputChannels: "required",
  update: "optional",
  staticFeatures: "optional",
};

export const latentODERFWPOptionNames: OptionNames<LatentODERFWPOptions> = {
  ...recurrentOptionNames,
  ...latentOptionNames,
  encoder: "optional",
};

export const hebbRuleOptionNames: OptionNames<HebbRuleOptions> = {
  boundValues: "optional",
  boundRate: "optional",
};

export const ojaRuleOptionNames: OptionNames<OjaRuleOptions> = { normalizeAfter: "optional" };

export const deltaRuleOptionNames: OptionNames<DeltaRuleOptions> = {
  boundValues: "optional",
  postTanh: "optional",
};

export const fastWeightCallNames: OptionNames<FastWeightCallOptions> = {
  ...pathCallNames,
  initial: "optional",
  key: "optional",
};

export const sequenceCallNames: OptionNames<SequenceCallOptions> = keyedReadoutNames;
