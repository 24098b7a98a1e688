import { checkOptions, namesOf } from "../../device/options.ts";
import { formatShape, refuseShape, sameShape } from "../../device/shape.ts";
import {
  checkCount,
  type Layer,
  layer,
  parameterOptionNames,
  type ParameterOptions,
} from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { hiddenLayerNames, type HiddenLayers, type MLPParameters } from "../../nn/mlp.ts";
import type { Path } from "../../paths/path.ts";
import { solveOptionNames, type SolveOptions } from "../../solvers/solve_options.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkNoise, draw, negativeEvidenceLowerBound, posteriorOf } from "./evidence_lower_bound.ts";
import { NeuralCDE, type NeuralCDEParameters } from "../cde/neural_cde.ts";
import { NeuralODE } from "../neural_ode.ts";
import {
  staticFeaturesCallNames,
  type StaticFeaturesCallOptions,
  type StaticFeaturesOptions,
} from "../static_features.ts";

/**
 * Options of {@linkcode LatentODE}. The solver options apply to the latent equation. The hidden layer sizes
 * apply to both vector fields. The encoder's state has `width` features.
 */
export interface LatentODEOptions extends SolveOptions, ParameterOptions, HiddenLayers {
  /** Channels of the control that the encoder reads, time included. */
  inputChannels: number;
  /** Channels of the predicted observations. */
  outputChannels: number;
  /** Features of the latent state. */
  latentChannels: number;
  /**
   * The standard deviation of observations around the decoded state.
   *
   * @default {0.1}
   */
  noise?: number;
  /**
   * A network of static features, which do not change over time. The encoder's z(t0) also depends on them.
   * Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
}

const latentODEOptionNames = namesOf<LatentODEOptions>()(
  solveOptionNames,
  parameterOptionNames,
  hiddenLayerNames,
  "inputChannels outputChannels latentChannels noise? staticFeatures?",
);

/** Parameters of a {@linkcode LatentODE}. */
export type LatentODEParameters = {
  /** Maps the control to means and logarithms of standard deviations of the initial latent state. */
  readonly encoder: NeuralCDEParameters;
  /** The slope of the latent state. */
  readonly vectorField: MLPParameters;
  /** Maps the latent state to observations. */
  readonly decoder: LinearParameters;
};

/** Options of a call of a {@linkcode LatentODE}. */
export interface LatentODECallOptions extends StaticFeaturesCallOptions {
  /** Random key of the initial state. Without a key, the initial state is the mean of its distribution. */
  key?: Key;
}

const latentODELossNames = namesOf<LatentODECallOptions & { key: Key }>()(staticFeaturesCallNames, "key");

const latentODECallNames = namesOf<LatentODECallOptions>()(staticFeaturesCallNames, "key?");

/** A latent ODE: a layer with its training loss. */
export type LatentODEModel =
  & Layer<[X: Path, t: Tensor | ArrayLike<number>, call?: LatentODECallOptions], LatentODEParameters>
  & {
    /**
     * The negative evidence lower bound, averaged over series.
     *
     * @param x Observations at the times `t`, `(batch, length, outputChannels)`. NaN marks a missing value.
     * @param call The key that draws the initial state, and static features if the model has them.
     */
    loss(
      X: Path,
      x: Tensor,
      t: Tensor | ArrayLike<number>,
      call: LatentODECallOptions & { key: Key },
    ): Tensor;
  };

/**
 * A latent ODE (Chen et al., 2018, section 5; Rubanova et al., "Latent ODEs for irregularly-sampled time
 * series", 2019). An encoder predicts the distribution of an initial state, a neural ODE carries the state
 * through time, and a decoder maps it to observations. The encoder is a Neural CDE along the observed series,
 * which handles missing values and irregular times.
 *
 * The model takes a control `(batch, ...)` and times, which may go beyond the observed times. It returns
 * predictions `(batch, times, outputChannels)` from the mean initial state, or from a state drawn with a key.
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
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), or `noise` is not positive.
 */
export function LatentODE(options: LatentODEOptions): LatentODEModel {
  checkOptions("LatentODE", options, latentODEOptionNames);
  const { inputChannels, outputChannels, latentChannels, width, depth, noise = 0.1, ...rest } = options;
  const { staticFeatures, key, dtype, ...solver } = rest;
  checkCount("LatentODE", "latentChannels", latentChannels);
  checkNoise("LatentODE", noise);
  const keys = splitKey(key, 3);
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

  const posterior = (X: Path, { staticFeatures }: StaticFeaturesCallOptions) =>
    posteriorOf(encoder(X, { staticFeatures }));
  const model = layer(
    parameters,
    (X: Path, t: Tensor | ArrayLike<number>, call: LatentODECallOptions = {}) => {
      checkOptions("LatentODE", call, latentODECallNames);
      const q = posterior(X, call);
      return decoder(dynamics(call.key ? draw(q, call.key) : q.mean, t));
    },
  );
  const loss = (
    X: Path,
    x: Tensor,
    t: Tensor | ArrayLike<number>,
    call: LatentODECallOptions & { key: Key },
  ) => {
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
