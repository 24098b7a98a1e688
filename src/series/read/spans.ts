/** Typical durations of series, and typical times between their observations. */
import type { Series, SeriesSet } from "../../data/series.ts";
import { median } from "../math/median.ts";

/** Median time from the first to the last observation of a series, above 0; 1 if there is no such time. */
export function typicalSpan(series: readonly Pick<Series, "times">[]): number {
  const spans = series.map(({ times }) => times[times.length - 1] - times[0]).filter((span) => span > 0);
  return spans.length > 0 ? median(spans) : 1;
}

/** Median time between consecutive observations; 1 if no series has two observations. */
export function typicalGap({ series }: Pick<SeriesSet, "series">): number {
  const gaps = gapsOf(series.map(({ times }) => times));
  return gaps.length > 0 ? median(gaps) : 1;
}

/** Gaps between consecutive times of all series. */
export function gapsOf(times: readonly Float64Array[]): number[] {
  return times.flatMap((one) => Array.from(one.subarray(1), (time, i) => time - one[i]));
}
