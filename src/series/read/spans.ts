/** Typical durations of series, and typical times between their observations. */
import type { Series, SeriesSet } from "../../data/series.ts";
import { median } from "../math/median.ts";

/** Median time from the first to the last observation of a series, above 0; 1 if there is no such time. */
export function typicalSpan(series: readonly Pick<Series, "times">[]): number {
  const spans = series.map(({ times }) => times[times.length - 1] - times[0]).filter((span) => span > 0);
  return spans.length > 0 ? median(spans) : 1;
}

/** Median time between consecutive observations; 1 if no series has two observations. */
export function typicalGap(set: Pick<SeriesSet, "series">): number {
  const gaps = gapsOf(set);
  return gaps.length > 0 ? median(gaps) : 1;
}

/** Times between consecutive observations of all series. */
function gapsOf({ series }: Pick<SeriesSet, "series">): number[] {
  return series.flatMap(({ times }) => Array.from(times.subarray(1), (time, i) => time - times[i]));
}
