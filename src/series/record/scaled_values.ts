/** Scaling of values with the statistics of a record. */
import type { ChannelStatistics } from "../../data/scaling.ts";
import type { Series } from "../../data/series.ts";
import { asinh, sinh } from "../math/elementary.ts";
import type { RecordedAsinh } from "./data_record.ts";

/** Statistics that scale the values of a column. */
interface Scale extends ChannelStatistics {
  readonly asinh?: RecordedAsinh;
}

/** Scales a value of a column: `(x - mean) / sd`, of `asinh(x / unit)` for a skewed column. */
export function scaledValue(value: number, { asinh: curve, ...linear }: Scale): number {
  const { mean, standardDeviation } = curve ?? linear;
  return ((curve ? asinh(value / curve.unit) : value) - mean) / standardDeviation;
}

/** Inverse of {@linkcode scaledValue}. */
export function unscaledValue(scaled: number, { asinh: curve, ...linear }: Scale): number {
  const { mean, standardDeviation } = curve ?? linear;
  const value = scaled * standardDeviation + mean;
  return curve ? sinh(value) * curve.unit : value;
}

/** Scales all channels of a series. */
export function scaledSeries<One extends Pick<Series, "values">>(
  series: One,
  channels: readonly Scale[],
): One {
  const values = series.values.map((value, i) => scaledValue(value, channels[i % channels.length]));
  return { ...series, values };
}
