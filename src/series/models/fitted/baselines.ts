/** The simplest models for classes and numbers, which every other model must win against. */
import type { Series } from "../../../data/series.ts";
import { inverseDeviations } from "../../math/ridge.ts";
import type { DataRecord } from "../../record/data_record.ts";
import { scaledValue } from "../../record/scaled_values.ts";
import { fitOutputs, linearOfFeatures } from "../linear_of_features.ts";
import type { FittedModelKind } from "../series_network.ts";

/** Features of a series for a linear model. */
type Features = (series: Series, channels: DataRecord["channels"]) => Float32Array;

/** Last known value of each channel, scaled; 0, the mean, if no value is known. */
export const lastValues: Features = (series, channels) => {
  const { values } = series;
  return Float32Array.from(channels, (scale, channel) => {
    for (let i = values.length - channels.length + channel; i >= 0; i -= channels.length) {
      if (!Number.isNaN(values[i])) return scaledValue(values[i], scale);
    }
    return 0;
  });
};

/** A linear model of the last values: for each output its intercept, then a weight for each channel. */
export type LastValueWeights = readonly (readonly number[])[];

/**
 * Fits a ridge regression on the last values.
 *
 * @param targets `(series, outputs)`; NaN is unknown.
 */
export function fitLastValues(
  series: readonly Series[],
  channels: DataRecord["channels"],
  targets: readonly number[],
): LastValueWeights {
  const outputs = targets.length / series.length;
  const features = series.map((one) => lastValues(one, channels));
  const scales = inverseDeviations(features);
  const [{ mean, scale, weight, bias }] = fitOutputs(features, [scales], Float64Array.from(targets), {
    ...{ outputs, isShared: false },
  });
  return Array.from(bias, (start, k) => {
    const weights = Array.from(scale, (one, f) => one * weight[f * outputs + k]);
    return [weights.reduce((sum, one, f) => sum - one * mean[f], start), ...weights];
  });
}

/** Outputs of a linear model of the last values for a series. */
export function readLastValues(
  fitted: LastValueWeights,
  series: Series,
  channels: DataRecord["channels"],
): number[] {
  const values = lastValues(series, channels);
  return fitted.map(([start, ...weights]) => weights.reduce((sum, one, f) => sum + one * values[f], start));
}

/** Makes the network of a ridge regression on features. */
function ridgeOn(featuresOf: Features): FittedModelKind["network"] {
  return ({ record }, outputs) => {
    const { channels } = record;
    const emptySeries = { name: "", times: new Float64Array(), values: new Float64Array(), label: -1 };
    const { length: count } = featuresOf(emptySeries, channels);
    const { parameters, network, store } = linearOfFeatures({
      ...{ count, outputs },
      featuresOf: (series) => featuresOf(series, channels),
    });
    return {
      ...network,
      parameters,
      regularised: parameters,
      // The targets of classes are -1 and 1.
      outputRange: { low: -1, high: 1, mean: 0, standardDeviation: 1 },
      fit(series, targets) {
        const features = series.map((one) => featuresOf(one, channels));
        const isShared = record.targets === undefined;
        const [fitted] = fitOutputs(features, [inverseDeviations(features)], targets, { outputs, isShared });
        store(fitted);
        return Promise.resolve(fitted.leftOut);
      },
    };
  };
}

/** The mean of the targets, or the fractions of the classes. */
export const constantNetwork: FittedModelKind["network"] = ridgeOn(() => new Float32Array(1));

/** A ridge regression on the last value of each channel. */
export const lastValueNetwork: FittedModelKind["network"] = ridgeOn(lastValues);
