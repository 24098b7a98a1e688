/** Names of the options of models and of their calls, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import { hiddenLayerNames, parameterOptionNames } from "../nn/option_names.ts";
import { cdeSolveOptionNames, solveOptionNames } from "../solvers/option_names.ts";
import type { Key } from "../tensor/random.ts";
import type { AlongPathOptions, ControlledOptions } from "./along_path.ts";
import type { WindowedOptions } from "./along_windows.ts";
import type { BetweenOptions } from "./between_observations.ts";
import type { DirectNeuralODEOptions } from "./direct_node.ts";
import type { ForecastCallOptions, ForecasterBaseOptions } from "./forecaster.ts";
import type { IrregularGRUCallOptions, IrregularGRUOptions } from "./irregular_gru.ts";
import type { LatentODECallOptions, LatentODEOptions } from "./latent_ode.ts";
import type { LatentODERNNOptions } from "./latent_ode_rnn.ts";
import type { LatentOptions, LatentRecurrenceCallOptions } from "./latent_recurrence.ts";
import type { LogNCDEOptions } from "./log_ncde.ts";
import type { NeuralCDEOptions } from "./neural_cde.ts";
import type { NeuralODEOptions } from "./neural_ode.ts";
import type { NeuralRDEOptions } from "./neural_rde.ts";
import type { ReadoutOptions } from "./readout_states.ts";
import type { ForecasterOptions, RecurrentModelOptions } from "./recurrent.ts";
import type { SequenceOptions } from "./sequences.ts";
import type { StaticFeaturesCallOptions, StaticFeaturesOptions } from "./static_features.ts";
import type { ModelStreamOptions } from "./stream.ts";
import type { TransformerForecasterOptions, TransformerOptions } from "./transformer.ts";

export const staticFeaturesOptionNames: OptionNames<StaticFeaturesOptions> = {
  channels: "required",
  width: "optional",
};

const staticFeaturesCallNames: OptionNames<StaticFeaturesCallOptions> = { staticFeatures: "optional" };

export const readoutOptionNames: OptionNames<ReadoutOptions> = { states: "optional", lengths: "optional" };

export const pathCallNames: OptionNames<ReadoutOptions & StaticFeaturesCallOptions> = {
  ...readoutOptionNames,
  ...staticFeaturesCallNames,
};

export const keyedReadoutNames: OptionNames<ReadoutOptions & { key?: Key }> = {
  ...readoutOptionNames,
  key: "optional",
};

export const irregularCallNames: OptionNames<Partial<IrregularGRUCallOptions>> = {
  ...pathCallNames,
  gaps: "optional",
  observed: "optional",
};

export const latentCallNames: OptionNames<Partial<LatentRecurrenceCallOptions>> = {
  ...staticFeaturesCallNames,
  gaps: "optional",
  key: "optional",
};

export const latentODECallNames: OptionNames<LatentODECallOptions> = {
  ...staticFeaturesCallNames,
  key: "optional",
};

export const latentLossNames: OptionNames<LatentRecurrenceCallOptions & { key: Key }> = {
  ...staticFeaturesCallNames,
  gaps: "required",
  key: "required",
};

export const latentODELossNames: OptionNames<LatentODECallOptions & { key: Key }> = {
  ...staticFeaturesCallNames,
  key: "required",
};

export const forecastCallNames: OptionNames<ForecastCallOptions> = {
  context: "optional",
  forcing: "optional",
  sample: "optional",
  key: "optional",
};

export const streamOptionNames: OptionNames<ModelStreamOptions> = {
  path: "optional",
  timeChannel: "optional",
  state: "optional",
};

export const streamCallNames: OptionNames<ModelStreamOptions & StaticFeaturesCallOptions> = {
  ...streamOptionNames,
  ...staticFeaturesCallNames,
};

const controlledOptionNames: OptionNames<ControlledOptions> = {
  ...cdeSolveOptionNames,
  ...parameterOptionNames,
  inputChannels: "required",
  hiddenChannels: "required",
  outputChannels: "required",
  staticFeatures: "optional",
  slopeScale: "optional",
};

export const alongPathOptionNames: OptionNames<AlongPathOptions> = {
  ...controlledOptionNames,
  initial: "optional",
};

export const directNeuralODEOptionNames: OptionNames<DirectNeuralODEOptions> = {
  ...alongPathOptionNames,
  ...hiddenLayerNames,
};

const windowedOptionNames: OptionNames<WindowedOptions> = { ...controlledOptionNames, ...hiddenLayerNames };

export const neuralRDEOptionNames: OptionNames<NeuralRDEOptions> = {
  ...windowedOptionNames,
  signatureDepth: "required",
  finalActivation: "optional",
};

export const logNCDEOptionNames: OptionNames<LogNCDEOptions> = {
  ...windowedOptionNames,
  signatureDepth: "required",
  initialScale: "optional",
};

export const neuralCDEOptionNames: OptionNames<NeuralCDEOptions> = {
  ...controlledOptionNames,
  ...hiddenLayerNames,
  form: "optional",
  finalActivation: "optional",
};

/** Names of the static features' options of a Neural CDE, which has the additional option `alone`. */
export const neuralCDEStaticNames: OptionNames<NonNullable<NeuralCDEOptions["staticFeatures"]>> = {
  ...staticFeaturesOptionNames,
  alone: "optional",
};

export const neuralODEOptionNames: OptionNames<NeuralODEOptions> = {
  ...solveOptionNames,
  ...parameterOptionNames,
  ...hiddenLayerNames,
  features: "required",
};

export const latentODEOptionNames: OptionNames<LatentODEOptions> = {
  ...solveOptionNames,
  ...parameterOptionNames,
  ...hiddenLayerNames,
  inputChannels: "required",
  outputChannels: "required",
  latentChannels: "required",
  noise: "optional",
  staticFeatures: "optional",
};

export const sequenceOptionNames: OptionNames<SequenceOptions> = {
  ...parameterOptionNames,
  inputChannels: "required",
  outputChannels: "required",
};

export const recurrentModelOptionNames: OptionNames<RecurrentModelOptions> = {
  ...sequenceOptionNames,
  cell: "required",
  hiddenChannels: "required",
  staticFeatures: "optional",
};

export const transformerOptionNames: OptionNames<TransformerOptions> = {
  ...sequenceOptionNames,
  modelDim: "required",
  heads: "required",
  layers: "optional",
  feedForward: "optional",
  dropout: "optional",
};

export const forecasterBaseOptionNames: OptionNames<ForecasterBaseOptions> = {
  ...parameterOptionNames,
  channels: "required",
  leastDeviation: "optional",
  time: "optional",
};

export const recurrentForecasterOptionNames: OptionNames<ForecasterOptions> = {
  ...forecasterBaseOptionNames,
  cell: "required",
  hiddenChannels: "required",
};

export const transformerForecasterOptionNames: OptionNames<TransformerForecasterOptions> = {
  ...forecasterBaseOptionNames,
  modelDim: "required",
  heads: "required",
  layers: "optional",
  feedForward: "optional",
};

export const betweenOptionNames: OptionNames<BetweenOptions> = {
  ...hiddenLayerNames,
  method: "optional",
  rtol: "optional",
  atol: "optional",
  stepsPerGap: "optional",
};

export const irregularGRUOptionNames: OptionNames<IrregularGRUOptions> = {
  ...sequenceOptionNames,
  hiddenChannels: "required",
  between: "optional",
  staticFeatures: "optional",
};

export const latentOptionNames: OptionNames<LatentOptions> = {
  noise: "optional",
  staticFeatures: "optional",
  update: "optional",
};

export const latentODERNNOptionNames: OptionNames<LatentODERNNOptions> = {
  ...betweenOptionNames,
  ...parameterOptionNames,
  ...latentOptionNames,
  inputChannels: "required",
  hiddenChannels: "required",
};
