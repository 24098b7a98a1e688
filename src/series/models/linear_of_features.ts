/** A linear model of features of series, as a part of models that are fitted in closed form. */
import type { Series } from "../../data/series.ts";
import { parameterOf } from "../../nn/layer.ts";
import { tensor, zeros } from "../../tensor/creation.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { featureMeans, fitRidges } from "../math/ridge.ts";
import { outputsInBatches, requireFiniteOutputs, type SeriesNetwork } from "./series_network.ts";

/** Options of {@linkcode linearOfFeatures}. */
interface LinearOptions {
  /** Number of features. */
  readonly count: number;
  readonly outputs: number;
  readonly featuresOf: (series: Series) => Float32Array;
  /** Smallest and largest value of each feature in training: a feature outside counts as the nearer one. */
  readonly bounds?: FeatureBounds;
}

/** Bounds of features `(features)`. */
export interface FeatureBounds {
  readonly low: Tensor;
  readonly high: Tensor;
}

/** A linear model of features: its parameters, and how it reads series. */
export function linearOfFeatures({ count, outputs, featuresOf, bounds }: LinearOptions) {
  const parameters = {
    mean: parameterOf(() => zeros([count])),
    scale: parameterOf(() => zeros([count])),
    weight: parameterOf(() => zeros([count, outputs])),
    bias: parameterOf(() => zeros([outputs])),
  };
  const { mean, scale, weight, bias } = parameters;
  const inputs: SeriesNetwork["inputs"] = (series) => {
    const features = new Float32Array(series.length * count);
    series.forEach((one, i) => features.set(featuresOf(one), i * count));
    return {
      coeffs: tensor(features, { shape: [series.length, count] }),
      lengths: tensor(new Int32Array(series.length), { dtype: "int32" }),
    };
  };
  const outputsOf: SeriesNetwork["outputs"] = ({ coeffs }) =>
    (bounds ? coeffs.clip(bounds.low, bounds.high) : coeffs).sub(mean).mul(scale).matmul(weight).add(bias);
  const network = {
    inputs,
    outputs: outputsOf,
    // All series have the same number of features.
    lengthOf: () => 1,
    async read(series: readonly Series[]) {
      const rows = await outputsInBatches(series, () => 1, (some) => outputsOf(inputs(some)));
      rows.forEach((row, i) => requireFiniteOutputs(series[i].name, row));
      return rows;
    },
  };
  /** Stores a fit of {@linkcode fitOutputs} in the parameters. */
  const store = (fitted: Pick<ReturnType<typeof fitOutputs>[number], "mean" | "scale" | "weight" | "bias">) =>
    tidy(() => {
      for (const name of ["mean", "scale", "weight", "bias"] as const) {
        const values = Float32Array.from(fitted[name]);
        parameters[name].assign(tensor(values, { shape: parameters[name].shape }));
      }
    });
  return { parameters, network, store };
}

/**
 * Fits outputs to targets, each to the samples with a known target, for each of some lists of scales.
 *
 * @param targets `(samples, outputs)`; NaN is unknown.
 */
export function fitOutputs(
  features: readonly Float32Array[],
  scales: readonly Float64Array[],
  targets: Float64Array,
  { outputs, isShared }: { outputs: number; isShared: boolean },
) {
  const [n, m] = [features.length, scales[0].length];
  const allColumns = Array.from({ length: outputs }, (_, k) => k);
  const means = featureMeans(features);
  const fits = scales.map((scale) => ({
    mean: means,
    scale,
    weight: new Float64Array(m * outputs),
    bias: new Float64Array(outputs),
    leftOut: new Float64Array(n * outputs),
    error: 0,
  }));
  for (const columns of isShared ? [allColumns] : allColumns.map((column) => [column])) {
    const samples = Array.from(features.keys()).filter((i) =>
      !Number.isNaN(targets[i * outputs + columns[0]])
    );
    if (samples.length === 0) continue;
    const parts = fitRidges({
      features: samples.map((i) => features[i]),
      scales,
      targets: Float64Array.from(samples.flatMap((i) => columns.map((k) => targets[i * outputs + k]))),
    });
    for (const [s, { mean, weight, bias, leftOut, error }] of parts.entries()) {
      const fitted = fits[s];
      fitted.error += error;
      columns.forEach((k, c) => {
        fitted.bias[k] = bias[c];
        for (let f = 0; f < m; f++) {
          const one = fitted.weight[f * outputs + k] = weight[f * columns.length + c];
          // The outputs share the means of all samples; this fit has the means of its samples.
          fitted.bias[k] += one * fitted.scale[f] * (means[f] - mean[f]);
        }
        samples.forEach((i, row) => fitted.leftOut[i * outputs + k] = leftOut[row * columns.length + c]);
      });
    }
  }
  return fits;
}
