/** Forecasts by a linear map of the past, alone or beside a model of whole series. */
import { type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { tensor } from "../../tensor/creation.ts";
import { foldIn, type Key, splitKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fitLinear, leastChange } from "./fit_linear.ts";
import type { FitData, WindowInputs, WindowModel, WindowModelSizes } from "./forecaster.ts";
import type { SeriesNetwork } from "./series_network.ts";

/** Parameters of the linear maps, and of the optional sequence model. */
type LinearParameters = {
  readonly linear: { readonly weight: Tensor; readonly bias?: Tensor };
  /** The map of the future covariates. Saved weights have this name. */
  readonly ahead?: { readonly weight: Tensor };
  readonly network?: ParameterTree;
};

/** The linear maps alone, fitted by least squares. */
export function linearModel(sizes: WindowModelSizes): WindowModel {
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
export function withLinear(
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
    // As in the fit, a constant past has no bias: the forecast repeats the constant.
    if (!network) steps = grid.abs().max(1, { keepDims: true }).greater(leastChange).where(steps, 0);
    if (ofFuture) steps = steps.add(ofFuture(futureCovariates!));
    if (!network) return steps;
    return steps.add(network.outputs(inputs!, key).reshape([grid.shape[0], horizon, channels]));
  });
}
