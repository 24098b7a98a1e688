/** Kinds of forecasting models. */
import { type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { tensor } from "../../tensor/creation.ts";
import { foldIn, type Key, splitKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { autoregressionModel } from "./local/autoregression_model.ts";
import { fitLinear, leastChange } from "./fit_linear.ts";
import { fitSmoothing } from "./local/fit_smoothing.ts";
import { forecastModel } from "./next_step_models.ts";
import { historyLength } from "../read/histories.ts";
import type { SeriesModelKind } from "./whole_series.ts";
import type { SeriesNetwork } from "./series_network.ts";
import { seasonalNaiveForm, smoothingModel } from "./local/smoothing_model.ts";
import type { FitData, WindowInputs, WindowModel, WindowModelKind, WindowModelSizes } from "./forecaster.ts";

/** Options that have no effect on a model that is fitted in closed form, and its number of epochs. */
const closedForm = {
  takes: [],
  rejects: ["epochs", "learningRate", "patience"],
  defaults: { epochs: 1 },
} as const;

/** A linear map of the past, fitted by least squares. */
export const linear: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  takesKnown: true,
  make: linearModel,
};

/** The last value. It ignores channels that are known ahead of time. */
export const naive: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  takesKnown: true,
  contextOf: historyLength,
  make: (sizes) => smoothingModel(sizes, () => seasonalNaiveForm(1)),
};

/** The value of one season before; without a season the last value. */
export const seasonalNaive: WindowModelKind = {
  ...naive,
  make: (sizes) => smoothingModel(sizes, (_, season) => seasonalNaiveForm(season)),
};

/** Exponential smoothing of each channel. */
export const exponentialSmoothing: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  contextOf: historyLength,
  make: (sizes) => smoothingModel(sizes, fitSmoothing),
};

/** Autoregression of each channel. */
export const autoregression: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  contextOf: historyLength,
  make: autoregressionModel,
};

/** A model of whole series whose outputs are added to a linear map of the past. */
export function besideLinear(kind: SeriesModelKind): WindowModelKind {
  return {
    takes: kind.takes.filter((setting) => setting !== "online" && setting !== "condense"),
    takesKnown: true,
    make: (sizes) => withLinear(sizes, sizes.network(kind, sizes.horizon * sizes.channels)),
  };
}

/** A model that forecasts step by step, and feeds back its predictions. @param name Name in `forecastModels`. */
export function stepByStep(name: string): WindowModelKind {
  return {
    takes: ["hidden"],
    // WARP applies A at every step: with a larger learning rate its state diverges.
    defaults: { learningRate: 0.001, hidden: 8 },
    make: (sizes) => rollout(name, sizes),
  };
}

/** Parameters of the linear maps, and of the optional sequence model. */
type LinearParameters = {
  readonly linear: { readonly weight: Tensor; readonly bias?: Tensor };
  /** The map of the future covariates. Saved weights have this name. */
  readonly ahead?: { readonly weight: Tensor };
  readonly network?: ParameterTree;
};

/** The linear maps alone, fitted by least squares. */
function linearModel(sizes: WindowModelSizes): WindowModel {
  const model = withLinear(sizes);
  const { linear, ahead } = model.parameters;
  return Object.assign(model, {
    fit({ windows, tuning }: FitData): Promise<void> {
      const { weight, shared } = fitLinear(windows, sizes, tuning);
      const { context, horizon } = sizes;
      tidy(() => {
        const both = tensor(Float32Array.from(weight), { shape: [horizon, context + 1] });
        linear.weight.assign(both.slice(1, 0, context));
        linear.bias!.assign(both.select(1, context));
        ahead?.weight.assign(tensor(Float32Array.from(shared), { shape: ahead.weight.shape }));
      });
      return Promise.resolve();
    },
  });
}

/**
 * A linear map from the past steps to the following steps, the same for each channel, plus a linear map of
 * the values known ahead of time. With a sequence model, its outputs are added.
 */
function withLinear(
  { channels, futureCovariates, context, horizon, key }: WindowModelSizes,
  network?: SeriesNetwork,
): Layer<[inputs: WindowInputs, key?: Key], LinearParameters> {
  const linear = Linear({ inputs: context, outputs: horizon, key: splitKey(key)[0] });
  const ofFuture = futureCovariates > 0
    ? Linear({ inputs: futureCovariates, outputs: channels, key: foldIn(key, 1), bias: false })
    : undefined;
  const parameters: LinearParameters = {
    linear: linear.parameters,
    ...(ofFuture ? { ahead: ofFuture.parameters } : {}),
    ...(network ? { network: network.parameters } : {}),
  };
  return layer(parameters, ({ grid, inputs, futureCovariates }: WindowInputs, key?: Key) => {
    let steps = linear(grid.transpose()).transpose();
    // The fit gives a constant past no bias: the forecast is the constant.
    if (!network) steps = grid.abs().max(1, { keepDims: true }).greater(leastChange).where(steps, 0);
    if (ofFuture) steps = steps.add(ofFuture(futureCovariates!));
    if (!network) return steps;
    return steps.add(network.outputs(inputs!, key).reshape([grid.shape[0], horizon, channels]));
  });
}

/** A forecasting model that feeds back its predictions after the past. */
function rollout(
  name: string,
  { channels, context, horizon, hidden, key }: WindowModelSizes,
): WindowModel {
  const model = forecastModel(name, {
    channels,
    length: context + horizon,
    hidden,
    root: { depth: 1, activation: "silu", frequencies: 6 },
    time: true,
    key,
  });
  return layer(model.parameters, ({ grid }: WindowInputs, key?: Key) => {
    const x = grid.pad([[0, 0], [0, horizon], [0, 0]]);
    return model(x, { context, key }).slice(1, context - 1, context + horizon - 1);
  });
}
