/** Linear models of features, and their outputs. */

/** Linear model: output k is bias(k) + the sum of weight(f, k) (feature(f) - mean(f)). */
export interface LinearModel {
  /** Positions of the features that the model reads. */
  readonly places: readonly number[];
  /** Means of these features in the training set. */
  readonly mean: readonly number[];
  /** Weights `(features, outputs)`, row-major. */
  readonly weight: readonly number[];
  /** Output for mean features. */
  readonly bias: readonly number[];
}

/** Outputs of a linear model for some features. */
export function linearOutputs(
  { places, mean, weight, bias }: LinearModel,
  features: ArrayLike<number>,
): number[] {
  return bias.map((start, k) =>
    places.reduce((sum, index, f) => sum + weight[f * bias.length + k] * (features[index] - mean[f]), start)
  );
}
