/** Options and settings of the papers' experiments. */
import { dataOptions, modelOptions, type SeriesSettings, taskOptions } from "@weft/weft/series";
import {
  choiceOption,
  type OptionSchema,
  pickOptions,
  type RunSettings,
  sizeOption,
  switchOption,
  trainingOptions,
} from "@weft/weft/train";
import { type Recipe, recipes } from "./recipe.ts";

/** Settings of a paper's experiment that classifies series. */
export interface PaperSeriesSettings extends SeriesSettings {
  /** Optimizer, schedule and stopping rule; `"short"` by default. */
  readonly recipe?: Recipe;
  /** Number of observations of each series. */
  readonly length?: number;
}

/** Settings of an experiment that forecasts series from their beginning. */
export interface ForecastSettings extends RunSettings {
  /** Name of the model. */
  readonly model?: string;
  /**
   * Features of each hidden layer of WARP's root network. Other models choose sizes with about the same
   * number of parameters.
   */
  readonly hidden: number;
  /** Number of hidden layers of WARP's root network, at least 1. */
  readonly depth?: number;
  /** Number of features of the state of another model; by default, as many parameters as WARP. */
  readonly units?: number;
  /** Number of layers of a state space model. */
  readonly layers?: number;
  /** Largest absolute value of WARP's weights, w_lim of its appendix A.3. 0 for no limit. */
  readonly clipWeights?: number;
  /** Optimizer, schedule and stopping rule; `"short"` by default. */
  readonly recipe?: Recipe;
  /** Path of the data, for experiments that read files. */
  readonly data?: string;
  /** Number of training series. */
  readonly samples?: number;
  /** Number of observations of each series. */
  readonly length?: number;
  /** Number of observations before the first prediction. */
  readonly context?: number;
  /** Whether to feed back means at evaluation even if training feeds back samples. */
  readonly smooth?: boolean;
  /** Whether to feed back means instead of samples in training, and at evaluation. */
  readonly noSampling?: boolean;
}

/** Options of experiments that forecast sequences from their beginning. */
const sequenceOptions: OptionSchema = {
  context: taskOptions.context,
  smooth: switchOption({ help: "feed means at test time where samples are fed in training" }),
  noSampling: switchOption({ group: "training", help: "feed means instead of samples, in training too" }),
  units: sizeOption({
    help: "features of the state of a model other than WARP",
    implied: "as many parameters as WARP",
  }),
  layers: sizeOption({ help: "layers of a state space model", implied: "2" }),
};

/** Option of experiments that have the settings of a paper. */
export const recipe = choiceOption(
  {
    group: "training",
    help: "short training, or the settings, optimiser and stopping rule of the paper's runs",
    implied: "short",
  },
  recipes,
);

/** Training options with the defaults of an experiment. */
function trainingWith({ epochs, batchSize, learningRate }: Defaults): OptionSchema {
  return trainingOptions({ epochs, batchSize, learningRate });
}

type Defaults = Omit<RunSettings, "seed"> & Readonly<Record<string, unknown>>;

const seriesOptionNames = [
  "model",
  "hidden",
  "width",
  "depth",
  "heads",
  "feedForward",
  "intensity",
  "method",
  "stepSize",
  "window",
  "signatureDepth",
  "clipWeights",
];

/**
 * Options of an experiment that classifies series. @param data Names of the {@linkcode dataOptions} that it
 * has.
 */
export function seriesOptions(defaults: Defaults, data: readonly string[] = []): OptionSchema {
  return {
    ...pickOptions(dataOptions, [...data, "dataSeed", "positiveWeight"], defaults),
    ...pickOptions(modelOptions, seriesOptionNames, defaults),
    ...trainingWith(defaults),
    recipe,
  };
}

/**
 * Options of an experiment that forecasts series. @param data Names of its data options: see
 * {@linkcode ForecastSettings}.
 */
export function forecastOptions(defaults: Defaults, data: readonly string[] = []): OptionSchema {
  return {
    ...pickOptions({ ...dataOptions, ...sequenceOptions }, data, defaults),
    ...pickOptions(sequenceOptions, ["units", "layers"]),
    ...pickOptions(modelOptions, ["model", "hidden", "depth", "clipWeights"], defaults),
    ...trainingWith(defaults),
    recipe,
  };
}
