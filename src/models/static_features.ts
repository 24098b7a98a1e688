/** Static features of a series, such as a patient's age, which determine a model's initial state. */
import { checkOptions, namesOf } from "../device/options.ts";
import type { DType } from "../device/dtype.ts";
import { formatShape, refuseShape, sameShape, type Shape } from "../device/shape.ts";
import type { Layer } from "../nn/layer.ts";
import { MLP, type MLPParameters } from "../nn/mlp.ts";
import { checkTensor } from "../tensor/checks.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Options of the network of static features that a model's first state depends on. */
export interface StaticFeaturesOptions {
  /** The number of static features. */
  channels: number;
  /**
   * Features of the hidden layer, 256 by default, as in Kidger et al., 2020, appendix D.3.
   *
   * @default {256}
   */
  width?: number;
}

export const staticFeaturesOptionNames = namesOf<StaticFeaturesOptions>()("channels width?");

/** Static features of a call, for a model that was made with them. */
export interface StaticFeaturesCallOptions {
  /** `(..., channels)`, with the same leading axes as the series. */
  staticFeatures?: Tensor;
}

export const staticFeaturesCallNames = namesOf<StaticFeaturesCallOptions>()("staticFeatures?");

/** The part of a model's first state that comes from static features. */
export interface StaticState {
  /** Parameters of the network. Empty without static features. */
  readonly parameters: { readonly staticFeatures?: MLPParameters };
  /**
   * Adds the network's output to a first state.
   *
   * @param first `(...batch, outputs)`. Returned unchanged if the model has no static features.
   * @throws {TypeError | ShapeError} As {@linkcode checkStaticFeatures}.
   */
  addTo(first: Tensor, features: Tensor | undefined): Tensor;
}

/**
 * Makes the static part of a model's first state. z(t0) then depends on static features as well as on the
 * series.
 */
export function StaticState(
  model: string,
  options: StaticFeaturesOptions | undefined,
  sizes: { outputs: number; key: Key; dtype?: DType },
): StaticState {
  const network = options === undefined ? undefined : StaticNetwork(model, options, sizes);
  return {
    parameters: network ? { staticFeatures: network.parameters } : {},
    addTo(first, features) {
      checkStaticFeatures(model, features, options, first.shape.slice(0, -1));
      return network ? first.add(network(features!)) : first;
    },
  };
}

/** A network with one hidden layer with ReLU (Kidger et al., 2020, appendix D.3). */
export function StaticNetwork(
  model: string,
  options: StaticFeaturesOptions,
  { outputs, key, dtype }: { outputs: number; key: Key; dtype?: DType },
): Layer<[features: Tensor], MLPParameters> {
  checkOptions(`${model}: staticFeatures`, options, staticFeaturesOptionNames);
  const { channels, width = 256 } = options;
  return MLP({ inputs: channels, outputs, width, depth: 1, key, dtype });
}

/**
 * Throws unless static features are given exactly if a model expects them, with the right shape.
 *
 * @param batch Axes of the series.
 */
export function checkStaticFeatures(
  model: string,
  features: Tensor | undefined,
  options: StaticFeaturesOptions | undefined,
  batch: Shape,
): void {
  if (!features && !options) return;
  if (!features) {
    throw new TypeError(
      `${model}: staticFeatures is missing; expected shape (..., ${options!.channels})`,
    );
  }
  if (!options) {
    throw new TypeError(
      `${model}: the call has staticFeatures, but the model was created without them; create the model with the option staticFeatures`,
    );
  }
  checkTensor(`${model}: staticFeatures`, features);
  const expected = [...batch, options.channels];
  if (!sameShape(features.shape, expected)) {
    refuseShape(`${model}: staticFeatures`, features.shape, formatShape(expected));
  }
}
