/** Ridge regression on features of convolutions, as a kind of model for series. */
import type { Series } from "../../data/series.ts";
import { parameterOf } from "../../nn/layer.ts";
import { tensor, zeros } from "../../tensor/creation.ts";
import { tidy } from "../../tensor/scope.ts";
import type { DataRecord } from "../record/data_record.ts";
import { scaledSeries } from "../record/scaled_values.ts";
import {
  biasCount,
  convolutionFeatureCount,
  type ConvolutionFeatures,
  convolutionFeatures,
  kernelLength,
} from "./random_convolutions.ts";
import { typicalGap } from "../read/spans.ts";
import { resample, type TimeGrid } from "../read/resample.ts";
import { inverseDeviations } from "../math/ridge.ts";
import { type FeatureBounds, fitOutputs, linearOfFeatures } from "./linear_of_features.ts";
import { drawsFor, manySeries } from "./fit_limits.ts";
import type { SeriesNetwork, SeriesNetworkOptions } from "./series_network.ts";
import { globalFeatureCount, globalMagnitudes, writeGlobalFeatures } from "./global_features.ts";

/** Maximum number of points of a resampled series. */
const maxPoints = 2000;

/**
 * Sizes of the features for a number of training series: 10,752 features for each draw, or 1,344 for many series. The exact
 * solution has the order of the smaller number, of series or of features, and its time grows with the cube.
 */
function sizesFor(series: number): { biases: number; operators: number } {
  return series <= manySeries ? { biases: 16, operators: 4 } : { biases: 8, operators: 1 };
}

/**
 * Share of the global features in the sum of squares of all scaled features. Without it, the few global
 * features would be lost among thousands of others, since all have the same penalty.
 */
const globalShare = 0.1;

/**
 * The share is used if it multiplies the leave-one-out error by less than this factor. With few series, the
 * error is too noisy for a smaller difference to decide.
 */
const clearlyBetter = 0.9;

/** Channels that are convolved: all but those with one value for a whole series. */
function convolvedChannels({ channels }: DataRecord): number[] {
  const all = Array.from(channels.keys());
  const varying = all.filter((i) => channels[i].role !== "static");
  return varying.length > 0 ? varying : all;
}

/**
 * MiniRocket's convolutions with MultiRocket's pooling operators and differences, global features, and ridge
 * regression.
 */
export function ridgeNetwork(
  { record, key, train }: SeriesNetworkOptions,
  outputs: number,
): Omit<SeriesNetwork, "members" | "memberOutputs"> {
  const { version, channels, time, split } = record;
  const convolved = convolvedChannels(record);
  // Earlier versions, whose records have no ranges, fitted their weights to features with rounding errors.
  const ignoresRounding = record.ranges !== undefined;
  // Models of records before version 3 have one draw of features, without bounds.
  const isBounded = version >= 3;
  const { length: samples } = split.train;
  const sizes = { ...sizesFor(samples), draws: isBounded ? drawsFor(samples) : 1 };
  const convolutionCount = convolutionFeatureCount(sizes);
  const count = convolutionCount + globalFeatureCount(channels.length);
  const bounds = isBounded
    ? { low: parameterOf(() => zeros([count])), high: parameterOf(() => zeros([count])) }
    : undefined;
  const linear = linearOfFeatures({ count, outputs, bounds, featuresOf: (series) => featuresOf(series) });
  const parameters = {
    grid: parameterOf(() => zeros([2])),
    thresholds: parameterOf(() => zeros([biasCount(sizes)])),
    ...bounds,
    ...linear.parameters,
  };
  /** The input form, on the host: the convolutions and their biases. */
  let form: { grid: TimeGrid; thresholds: Float32Array; convolutions: ConvolutionFeatures } | undefined;
  /** Features of series that were read before. Reports and evaluations read the same series several times. */
  let known = new WeakMap<Series, Float32Array>();
  const formOf = (grid: TimeGrid, thresholdsOf: (convolutions: ConvolutionFeatures) => Float32Array) => {
    const convolutions = convolutionFeatures({
      ...sizes,
      channels: convolved.length,
      points: grid.points,
      key,
      ignoresRounding,
    });
    known = new WeakMap();
    form = { grid, thresholds: thresholdsOf(convolutions), convolutions };
  };
  const resampled = (scaled: Series, grid: TimeGrid) => resample(scaled, channels.length, convolved, grid);
  const featuresOf = (series: Series): Float32Array => {
    const before = known.get(series);
    if (before) return before;
    const { grid, thresholds, convolutions } = form!;
    const scaled = scaledSeries(series, channels);
    const features = new Float32Array(count);
    convolutions.write(resampled(scaled, grid), thresholds, features);
    writeGlobalFeatures(
      scaled,
      channels.length,
      time.scale,
      features.subarray(convolutionCount),
      ignoresRounding,
    );
    known.set(series, features);
    return features;
  };
  if (train) {
    const grid = gridFor(train);
    formOf(
      grid,
      (convolutions) =>
        convolutions.thresholds(train.length, (i) => resampled(scaledSeries(train[i], channels), grid)),
    );
    tidy(() => {
      parameters.grid.assign(tensor([grid.points, grid.duration]));
      parameters.thresholds.assign(tensor(form!.thresholds));
    });
  }
  return {
    ...linear.network,
    parameters,
    regularised: parameters,
    // The targets of classes are -1 and 1.
    outputRange: { low: -1, high: 1, mean: 0, standardDeviation: 1 },
    fit(series, targets) {
      const features = series.map(featuresOf);
      const scales = inverseDeviations(features, (mean) => {
        const magnitudes = mean.map(Math.abs);
        const global = mean.subarray(convolutionCount);
        magnitudes.set(globalMagnitudes(global, channels.length), convolutionCount);
        return magnitudes;
      });
      // All classes share one penalty. Each numeric target has a separate penalty.
      const isShared = record.targets === undefined;
      // With many series and few features, the scales of the features hardly change the fit.
      const alternatives = series.length <= manySeries
        ? [scales, emphasised(scales, convolutionCount)]
        : [scales];
      const [plain, other = plain] = fitOutputs(features, alternatives, targets, { outputs, isShared });
      const fitted = other.error < clearlyBetter * plain.error ? other : plain;
      linear.store(fitted);
      if (bounds) storeBounds(bounds, features);
      return Promise.resolve(fitted.leftOut);
    },
    clearCache() {
      known = new WeakMap();
    },
    async onLoad() {
      const [[points, duration], thresholds] = await Promise.all([
        parameters.grid.data(),
        parameters.thresholds.data(),
      ]);
      const isKnown = form?.grid.points === points && form.grid.duration === duration &&
        thresholds.every((one, i) => one === form!.thresholds[i]);
      if (!isKnown) formOf({ points, duration }, () => thresholds as Float32Array);
    },
  };
}

/**
 * Stores the range of each feature. A feature that is almost the same in all training series can be thousands of
 * deviations away in another series.
 */
function storeBounds({ low, high }: FeatureBounds, features: readonly Float32Array[]): void {
  const [least, most] = [features[0].slice(), features[0].slice()];
  for (const row of features) {
    row.forEach((value, f) => {
      if (value < least[f]) least[f] = value;
      if (value > most[f]) most[f] = value;
    });
  }
  tidy(() => {
    low.assign(tensor(least));
    high.assign(tensor(most));
  });
}

/**
 * Grid of training series. It ends at the end of the longest series, or after twice the median duration if
 * there are longer series. Grid points are as far apart as observations typically are, and there are at most
 * twice as many as observations in the median series.
 */
function gridFor(train: readonly Series[]): TimeGrid {
  const median = (sorted: ArrayLike<number>) => sorted[sorted.length >> 1];
  const durations = Float64Array.from(train, ({ times }) => times[times.length - 1] - times[0]).sort();
  const observations = median(Float64Array.from(train, ({ times }) => times.length).sort());
  // The weights are stored in float32.
  const duration = Math.fround(Math.min(durations[durations.length - 1], 2 * median(durations)));
  const steps = Math.round(duration / typicalGap({ series: train }));
  const points = Math.min(steps + 1, 2 * observations, maxPoints);
  return { duration, points: Math.max(kernelLength, points) };
}

/** Scales of all features, with those of the global features enlarged to {@linkcode globalShare}. */
function emphasised(scale: Float64Array, convolutionCount: number): Float64Array {
  const countUsed = (scales: Float64Array) => scales.reduce((sum, one) => sum + (one > 0 ? 1 : 0), 0);
  const [convolved, global] = [scale.subarray(0, convolutionCount), scale.subarray(convolutionCount)].map(
    countUsed,
  );
  const factor = Math.max(1, Math.sqrt(globalShare * convolved / Math.max(1, global)));
  return scale.map((one, f) => f < convolutionCount ? one : one * factor);
}
