import type { Key } from "@weft/weft";
import { randpermArray, type Series } from "@weft/weft/data";

/** A random selection of the series; all of them if no number is given or there are fewer. */
export function someSeries(
  series: readonly Series[],
  samples: number | undefined,
  key: Key,
): readonly Series[] {
  if (samples === undefined) return series;
  return Array.from(randpermArray(key, series.length).subarray(0, samples), (i) => series[i]);
}
