/** Scaling of values with the statistics of a record. */
import type { ChannelStatistics } from "../../data/scaling.ts";
import type { Series } from "../../data/series.ts";
import { asinh } from "../math/elementary.ts";

/** Inverse hyperbolic sine of skewed values: mean and standard deviation of `asinh(value / unit)` scale them. */
export interface RecordedAsinh extends ChannelStatistics {
  /** Unit of the values, above 0. Far above it, the inverse hyperbolic sine is a logarithm. */
  readonly unit: number;
}

/** Statistics that scale the values of a column. */
interface Scale extends ChannelStatistics {
  readonly asinh?: RecordedAsinh;
}

/** Scales a value of a column: `(x - mean) / sd`, of `asinh(x / unit)` for a skewed column. */
export function scaledValue(value: number, scale: Scale): number {
  const curve = scale.asinh;
  return curve
    ? (asinh(value / curve.unit) - curve.mean) / curve.standardDeviation
    : (value - scale.mean) / scale.standardDeviation;
}

/** The inverse of {@linkcode scaledValue}. */
export function unscaledValue(value: number, scale: Scale): number {
  const { mean, standardDeviation } = scale.asinh ?? scale;
  const unscaled = mean + standardDeviation * value;
  return scale.asinh ? scale.asinh.unit * Math.sinh(unscaled) : unscaled;
}

/** Scales all channels of a series. */
export function scaledSeries<One extends Pick<Series, "values">>(
  series: One,
  channels: readonly Scale[],
): One {
  const values = series.values.map((value, i) => scaledValue(value, channels[i % channels.length]));
  return { ...series, values };
}
