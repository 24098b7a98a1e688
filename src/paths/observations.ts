/** Preparation of observations: time as a channel, missing values, counts. */
import { checkOptions, namesOf } from "../device/options.ts";
import { formatShape, normalizeAxis, sameShape, ShapeError } from "../device/shape.ts";
import { checkTensor, checkWord } from "../tensor/checks.ts";
import { arange, tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { peekHostValues } from "../tensor/host.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { fromColumns, lastRows, segmentedSum, toColumns } from "./columns.ts";
import { checkObservations } from "./path.ts";
import { checkResolution, readTimeline, type Times } from "./times.ts";

/**
 * Adds the time of observations as the first channel. Without it, the solution of a neural controlled differential equation does
 * not depend on time (Kidger et al., "Neural Controlled Differential Equations for Irregular Time Series", 2020, section 3).
 *
 * @example
 * ```ts
 * import { addTime, tensor } from "@weft/weft";
 *
 * console.log(await addTime(tensor([[5], [6]]), [0, 0.5]).toArray()); // [[0, 5], [0.5, 6]]
 * ```
 *
 * @param x `(..., length, channels)`.
 * @param t `(length,)`, or a row per series `(..., length)`; 0, 1, ... by default.
 * @returns `(..., length, 1 + channels)`.
 * @throws {ShapeError | RangeError} If times have a wrong shape, do not increase, or are too far from zero for the type of `x`:
 * float32 holds 24 bits of a time, which is too few for Unix seconds.
 */
export function addTime(x: Tensor, t?: Times): Tensor {
  checkObservations(x, "addTime");
  const shape = x.shape.slice(0, -1);
  const timeline = readTimeline(t, shape, "addTime");
  const hostTimes = "rows" in timeline ? peekHostValues(timeline.rows) : timeline.shared;
  for (let start = 0; hostTimes && start < hostTimes.length; start += shape.at(-1)!) {
    checkResolution(hostTimes.subarray(start, start + shape.at(-1)!), x.dtype, "addTime: the times");
  }
  const times = "rows" in timeline
    ? timeline.rows.cast(x.dtype)
    : tensor(timeline.shared, { dtype: x.dtype });
  return concatenate([times.broadcastTo(shape).expandDims(-1), x], x.rank - 1);
}

/**
 * Replaces missing observations (NaN) by the last observation of the same channel. Values before the first observation stay missing.
 *
 * @param x `(..., length, channels)`.
 * @param axis The time axis, -2 by default.
 */
export function forwardFill(x: Tensor, axis = -2): Tensor {
  checkObservations(x, "forwardFill");
  const along = normalizeAxis(axis, x.rank, "forwardFill");
  return tidy(() => {
    const series = along === x.rank - 2 ? x : x.transpose(along, -2);
    const columns = toColumns(series);
    const isMissing = columns.isNaN();
    const links = isMissing.cast(x.dtype);
    const values = segmentedSum(links, isMissing.where(0, columns));
    const seen = segmentedSum(links, isMissing.not().cast(x.dtype)).greater(0);
    const filled = fromColumns(seen.where(values, NaN), series.shape);
    return along === x.rank - 2 ? filled : filled.transpose(along, -2);
  });
}

/** Whether each value was observed: bool, with the shape of `x`. NaN is missing. */
export function observationMask(x: Tensor): Tensor {
  checkTensor("observationMask: x", x);
  return x.isNaN().not();
}

/** Options of {@linkcode observationalIntensity}. */
export interface IntensityOptions {
  /** `"channel"` (default) counts the observations of each channel. `"row"` counts rows with at least one observation. */
  per?: "channel" | "row";
  /** Whether to return cumulative counts (default) instead of a mask. */
  cumulative?: boolean;
}

const intensityOptionNames = namesOf<IntensityOptions>()("per? cumulative?");

/**
 * Number of observations up to each row. The count is informative if someone decides when to measure, as in medicine.
 * Concatenate it to a series as channels (Kidger et al., 2020, section 3.2).
 *
 * @param x `(..., length, channels)`; NaN is missing.
 * @returns `(..., length, channels)`, or `(..., length, 1)` per row, of the type of `x`.
 * @throws {RangeError} If `per` is unknown.
 */
export function observationalIntensity(x: Tensor, options: IntensityOptions = {}): Tensor {
  checkObservations(x, "observationalIntensity");
  checkOptions("observationalIntensity", options, intensityOptionNames);
  const { per = "channel", cumulative = true } = options;
  checkWord("observationalIntensity", "per", per, ["channel", "row"]);
  const observed = observationMask(x).cast(x.dtype);
  const counted = per === "row" ? observed.max(-1, { keepDims: true }) : observed;
  return cumulative ? counted.cumsum(-2) : counted;
}

/**
 * The length of each series, int32 `(...)`: the number of rows up to the last row with an observation. Later rows are padding.
 *
 * @param x `(..., length, channels)`; NaN is missing.
 */
export function seriesLengths(x: Tensor): Tensor {
  checkObservations(x, "seriesLengths");
  const rows = observationMask(x).cast("int32").max(-1);
  return rows.mul(arange(x.shape.at(-2)!, { dtype: "int32", start: 1 })).max(-1);
}

/**
 * The last time of each series: the time of row `lengths - 1`.
 *
 * @param t `(length,)`, or a row per series `(..., length)`.
 * @param lengths int32 `(...)`, as returned by {@linkcode seriesLengths}.
 * @returns `(...)`; NaN if a length is out of range.
 */
export function terminalTimes(t: Tensor, lengths: Tensor): Tensor {
  checkTensor("terminalTimes: t", t);
  checkTensor("terminalTimes: lengths", lengths);
  if (t.rank === 0 || (t.rank > 1 && !sameShape(t.shape.slice(0, -1), lengths.shape))) {
    throw new ShapeError(
      `terminalTimes: times of shape ${formatShape(t.shape)} do not fit lengths of shape ${
        formatShape(lengths.shape)
      }`,
    );
  }
  return t.rank === 1 ? t.take(lengths.sub(1)) : lastRows(t.expandDims(-1), lengths).squeeze(-1);
}
