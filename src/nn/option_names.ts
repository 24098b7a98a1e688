/** Names of the options of layers, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { AttentionOptions } from "./attention.ts";
import type { DropoutOptions } from "./dropout.ts";
import type { EmbeddingOptions } from "./embedding.ts";
import type { ParameterOptions } from "./layer.ts";
import type { LayerNormOptions } from "./layer_norm.ts";
import type { LinearOptions } from "./linear.ts";
import type { BinaryCrossEntropyOptions, CrossEntropyOptions } from "./losses.ts";
import type { HiddenLayers, MLPOptions } from "./mlp.ts";
import type { RecurrentOptions } from "./recurrent.ts";
import type { RMSNormOptions } from "./rms_norm.ts";

export const parameterOptionNames: OptionNames<ParameterOptions> = { key: "required", dtype: "optional" };

export const hiddenLayerNames: OptionNames<HiddenLayers> = { width: "required", depth: "required" };

export const linearOptionNames: OptionNames<LinearOptions> = {
  inputs: "required",
  outputs: "required",
  bias: "optional",
  initialization: "optional",
  ...parameterOptionNames,
};

export const mlpOptionNames: OptionNames<MLPOptions> = {
  ...linearOptionNames,
  ...hiddenLayerNames,
  activation: "optional",
  finalActivation: "optional",
};

export const layerNormOptionNames: OptionNames<LayerNormOptions> = {
  features: "required",
  eps: "optional",
  affine: "optional",
  dtype: "optional",
};

export const rmsNormOptionNames: OptionNames<RMSNormOptions> = {
  features: "required",
  eps: "optional",
  dtype: "optional",
};

export const dropoutOptionNames: OptionNames<DropoutOptions> = { rate: "required" };

export const embeddingOptionNames: OptionNames<EmbeddingOptions> = {
  count: "required",
  features: "required",
  ...parameterOptionNames,
};

export const attentionOptionNames: OptionNames<AttentionOptions> = {
  features: "required",
  heads: "required",
  ...parameterOptionNames,
};

export const recurrentOptionNames: OptionNames<RecurrentOptions> = {
  inputs: "required",
  hidden: "required",
  ...parameterOptionNames,
};

export const crossEntropyOptionNames: OptionNames<CrossEntropyOptions> = { weights: "optional" };

export const binaryCrossEntropyOptionNames: OptionNames<BinaryCrossEntropyOptions> = {
  positiveWeight: "optional",
};

export const weightPenaltyOptionNames: OptionNames<{ norms?: boolean }> = { norms: "optional" };
