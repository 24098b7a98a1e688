import { latentODECallNames, latentODELossNames } from "./option_names.ts";
import { checkOptions } from "../device/options.ts";
import { latentODEOptionNames } from "./option_names.ts";
import { formatShape, refuseShape, sameShape } from "../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterOptions } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import type { HiddenLayers, MLPParameters } from "../nn/mlp.ts";
import type { Path } from "../paths/path.ts";
import type { SolveOptions } from "../solvers/solve_options.ts";
import { type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkNoise, draw, negativeEvidenceLowerBound, posteriorOf } from "./evidence_lower_bound.ts";
import { NeuralCDE, type NeuralCDEParameters } from "./neural_cde.ts";
import { NeuralODE } from "./neural_ode.ts";
import type { StaticFeaturesCall, StaticFeaturesOptions } from "./static_features.ts";

/**
 * Options of {@linkcode LatentODE}: the solver is that of the latent equation, the hidden layers are those of both vector fields, and
 * the encoder's state is as wide as they are.
 */
export interface LatentODEOptions extends SolveOptions, ParameterOptions, HiddenLayers {
  /** Channels of the control that the encoder reads, time included. */
  inputChannels: number;
  /** Channels of the observations that are predicted. */
  outputChannels: number;
  /** Features of the latent state. */
  latentChannels: number;
  /** The standard deviation of observations around the decoded state, 0.1 by default. */
  noise?: number;
  /** A network of features that do not change over time, on which the encoder's z(t0) depends as well: calls then need `staticFeatures`. */
  staticFeatures?: StaticFeaturesOptions;
}

/** Parameters of a {@linkcode LatentODE}. */
export type LatentODEParameters = {
  /** From the control to means and logarithms of standard deviations of the initial latent state. */
  readonly encoder: NeuralCDEParameters;
  /** The slope of the latent state. */
  readonly vectorField: MLPParameters;
  /** Observations from the latent state. */
  readonly decoder: LinearParameters;
};

/** Options of a call of a {@linkcode LatentODE}. */
export interface LatentODECall extends StaticFeaturesCall {
  /** Random key of the initial state, which is the mean of its distribution without one. */
  key?: Key;
}

/** A latent ODE: a layer, with the loss that it is trained with. */
export type LatentODEModel =
  & Layer<[X: Path, t: Tensor | ArrayLike<number>, call?: LatentODECall], LatentODEParameters>
  & {
    /**
     * The negative evidence lower bound, a mean over series.
     *
     * @param x Observations at the times `t`, `(batch, length, outputChannels)`; NaN is missing.
     * @param call The key that the initial state is drawn with, and static features where the model has some.
     */
    loss(X: Path, x: Tensor, t: Tensor | ArrayLike<number>, call: LatentODECall & { key: Key }): Tensor;
  };

/**
 * A latent ODE (Chen et al., 2018, section 5; Rubanova et al., "Latent ODEs for irregularly-sampled time series", 2019): an
 * encoder gives the distribution of an initial state, a neural ODE carries it through time, and a decoder makes
 * observations of it. The encoder is a Neural CDE along the observed series, so that missing values and irregular times
 * need nothing more.
 *
 * It takes a control `(batch, ...)` and times, which may go beyond those observed, and returns predictions
 * `(batch, times, outputChannels)`: of the mean initial state, or of one drawn with a key.
 *
 * @example
 * ```ts
 * import { addTime, CubicSpline, key, LatentODE, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const x = normal(key(0), [8, 20, 2]);
 * const X = CubicSpline(naturalCubicCoeffs(addTime(x)));
 * const sizes = { inputChannels: 3, outputChannels: 2, latentChannels: 4, width: 16, depth: 1 };
 * const model = LatentODE({ ...sizes, stepSize: 1, key: key(1) });
 * const loss = model.loss(X, x, X.times, { key: key(2) });
 * model(X, [0, 19, 25]).shape; // (8, 3, 2): a forecast too
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero), or `noise` is not positive.
 */
export function LatentODE(options: LatentODEOptions): LatentODEModel {
  checkOptions("LatentODE", options, latentODEOptionNames);
  const { inputChannels, outputChannels, latentChannels, width, depth, noise = 0.1, ...rest } = options;
  const { staticFeatures, key, dtype, ...solver } = rest;
  checkCount("LatentODE", "latentChannels", latentChannels);
  checkNoise("LatentODE", noise);
  const keys = split(key, 3);
  const sizes = { width, depth, dtype };
  const encoder = NeuralCDE({
    ...sizes,
    inputChannels,
    hiddenChannels: width,
    outputChannels: 2 * latentChannels,
    staticFeatures,
    key: keys[0],
  });
  const dynamics = NeuralODE({ ...sizes, ...solver, features: latentChannels, key: keys[1] });
  const decoder = Linear({ inputs: latentChannels, outputs: outputChannels, key: keys[2], dtype });
  const parameters = {
    encoder: encoder.parameters,
    vectorField: dynamics.parameters,
    decoder: decoder.parameters,
  };

  const posterior = (X: Path, { staticFeatures }: StaticFeaturesCall) =>
    posteriorOf(encoder(X, { staticFeatures }));
  const model = layer(parameters, (X: Path, t: Tensor | ArrayLike<number>, call: LatentODECall = {}) => {
    checkOptions("LatentODE", call, latentODECallNames);
    const q = posterior(X, call);
    return decoder(dynamics(call.key ? draw(q, call.key) : q.mean, t));
  });
  const loss = (X: Path, x: Tensor, t: Tensor | ArrayLike<number>, call: LatentODECall & { key: Key }) => {
    checkOptions("LatentODE.loss", call, latentODELossNames);
    const q = posterior(X, call);
    const predicted = decoder(dynamics(draw(q, call.key), t));
    if (!sameShape(x.shape, predicted.shape)) {
      refuseShape("LatentODE: x", x.shape, formatShape(predicted.shape));
    }
    return negativeEvidenceLowerBound(q, predicted, x, noise);
  };
  return Object.assign(model, { loss });
}
