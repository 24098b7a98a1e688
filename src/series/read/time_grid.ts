/** Grid of the times of series: an absent row is then read like a row with empty fields. */
import type { Series, SeriesSet } from "../../data/series.ts";
import type { DataRecord, RecordedGrid } from "../record/data_record.ts";
import { typicalSpan } from "../read/spans.ts";
import { recordTimes } from "./recorded_series.ts";

/** Maximum time of the first row of series that share a clock, as a fraction of the typical span. */
const latestStart = 0.5;
/** Maximum distance of a time from the grid, in gaps. */
const tolerance = 1e-6;
/** Maximum number of grid points per row of the series. */
const maxRatio = 3;

/**
 * Conversion of the times of series to numbers.
 *
 * If times are numbers, and each series starts between zero and half of the typical span, the series share a
 * clock: zero is the same moment in all series, although their first rows may be absent.
 *
 * @param scale Factor of the times.
 */
export function recordClock(set: SeriesSet, scale: number): DataRecord["time"] {
  const latest = latestStart * typicalSpan(set.series);
  const isShared = set.times === "number" &&
    set.series.every(({ times: [first] }) => first >= 0 && first <= latest);
  const timeRecord = recordTimes(set, scale);
  const origin = isShared ? "zero" : timeRecord.origin;
  const grid = gridOf(set.series, origin);
  return { ...timeRecord, origin, ...(grid ? { grid } : {}) };
}

/**
 * Finds the grid of series whose times are all multiples of one gap, from the first time of any series if they
 * share a clock, or else from the first time of each series.
 *
 * @returns Undefined if times are not on a grid, or the grid has more than three times as many points as the
 * series have rows.
 */
export function gridOf(
  series: readonly Pick<Series, "times">[],
  origin: DataRecord["time"]["origin"],
): RecordedGrid | undefined {
  let [start, gap, rows, points] = [Infinity, Infinity, 0, 0];
  for (const { times } of series) {
    start = Math.min(start, times[0]);
    for (let row = 1; row < times.length; row++) gap = Math.min(gap, times[row] - times[row - 1]);
  }
  if (!Number.isFinite(start) || !Number.isFinite(gap)) return undefined;
  const grid = origin === "zero" ? { start, gap } : { gap };
  for (const { times } of series) {
    const gridPoints = gridPointsOf(times, grid);
    if (!gridPoints) return undefined;
    rows += times.length;
    points += gridPoints[gridPoints.length - 1] + 1;
  }
  return points <= maxRatio * rows ? grid : undefined;
}

/** Grid point of each row from 0, or undefined if a time is not on the grid. */
function gridPointsOf(times: Float64Array, { start = times[0], gap }: RecordedGrid): number[] | undefined {
  const positions = Array.from(times, (time) => (time - start) / gap);
  const isOnGrid = (point: number) => point > -tolerance && Math.abs(point - Math.round(point)) < tolerance;
  return positions.every(isOnGrid) ? positions.map(Math.round) : undefined;
}

/**
 * Adds rows without values, so that a series has a row at each grid point up to its last row. A series with
 * times that are not on the grid, or that would be far longer, stays as it is.
 *
 * @param length Number of rows of the longest training series.
 */
export function onGrid<One extends Pick<Series, "times" | "values">>(
  series: One,
  grid: RecordedGrid | undefined,
  length = Infinity,
): One {
  const { times, values } = series;
  const gridPoints = grid && gridPointsOf(times, grid);
  const points = gridPoints ? gridPoints[gridPoints.length - 1] + 1 : 0;
  if (!grid || !gridPoints || points === times.length || points > maxRatio * Math.max(length, times.length)) {
    return series;
  }
  const channels = values.length / times.length;
  const { start = times[0], gap } = grid;
  const filled = {
    times: Float64Array.from({ length: points }, (_, point) => start + point * gap),
    values: new Float64Array(points * channels).fill(NaN),
  };
  gridPoints.forEach((point, row) => {
    filled.times[point] = times[row];
    filled.values.set(values.subarray(row * channels, (row + 1) * channels), point * channels);
  });
  return { ...series, ...filled };
}
