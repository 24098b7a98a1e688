/** Errors of the seasonal naive forecast of one step. */
import type { Series } from "../../data/series.ts";
import type { RecordedWindows } from "../record/data_record.ts";

/**
 * Mean absolute difference of each channel's values one season apart, with a tolerance of half a step. NaN if
 * there are no such values. Compares times, not positions, since rows may be missing.
 */
export function seasonalErrorsOf(
  series: readonly Series[],
  width: number,
  { gap, season }: Pick<RecordedWindows, "gap" | "season">,
): number[] {
  return Array.from({ length: width }, (_, channel) => {
    let [sum, count] = [0, 0];
    for (const { times, values } of series) {
      const value = (row: number) => values[row * width + channel];
      const observed = Array.from(times.keys()).filter((row) => !Number.isNaN(value(row)));
      let nearest = 0;
      for (const row of observed) {
        const distance = (i: number) => Math.abs(times[row] - season * gap - times[observed[i]]);
        while (nearest + 1 < observed.length && distance(nearest + 1) <= distance(nearest)) nearest++;
        if (distance(nearest) > gap / 2) continue;
        [sum, count] = [sum + Math.abs(value(row) - value(observed[nearest])), count + 1];
      }
    }
    return sum / count;
  });
}
