/** Times of observations. Times that all series share are float64 on the host; devices receive differences of times. */
import { isCapturing } from "../device/capture.ts";
import { formatShape, sameShape, type Shape, ShapeError } from "../device/shape.ts";
import type { DType } from "../device/dtype.ts";
import { makeContiguous } from "../device/view.ts";
import { tensor } from "../tensor/creation.ts";
import { checkConstant, hostTimes, peekHostValues } from "../tensor/host.ts";
import { checkValues } from "../tensor/late_checks.ts";
import { hasValues } from "../tensor/primitive.ts";
import { Tensor } from "../tensor/tensor.ts";
import { toColumns } from "./columns.ts";

/** Times of observations: a vector for all series (0, 1, ... by default), or a tensor `(..., length)` with a row per series. */
export type Times = Tensor | ArrayLike<number>;

/** Checked times: shared by all series, on the host; or a row per series, on its device. */
export type Timeline = { readonly shared: Float64Array } | { readonly rows: Tensor };

/**
 * Checks the times of series of shape `(..., length)`. For times computed by a GPU, errors in their values are thrown by the next
 * call that reads values.
 *
 * @throws {ShapeError | RangeError} If the shape of the times is wrong, or they do not increase.
 */
export function readTimeline(t: Times | undefined, shape: Shape, operation: string): Timeline {
  const length = shape.at(-1)!;
  if (length < 2) throw new ShapeError(`${operation}: a path needs two observations at least, got ${length}`);
  if (t instanceof Tensor && t.rank > 1) {
    if (!sameShape(t.shape, shape)) {
      throw new ShapeError(
        `${operation}: t has shape ${
          formatShape(t.shape)
        }, expected (${length},) or, for times of each series, ` +
          formatShape(shape),
      );
    }
    checkConstant(t, `${operation}: t`);
    // The host copy can have a higher precision than the tensor.
    const round = t.dtype === "float32" ? Math.fround : (time: number) => time;
    const check = (values: Float64Array) => {
      for (let start = 0; start < values.length; start += length) {
        const row = values.subarray(start, start + length).map(round);
        checkIncreasing(row, operation, `row ${start / length} of `);
      }
    };
    const values = peekHostValues(t);
    if (values) check(values);
    else if (!isCapturing() && hasValues(t)) {
      checkValues(
        t.memoryDevice,
        makeContiguous(t.memoryDevice, t.view),
        (later) => check(Float64Array.from(later)),
      );
    }
    return { rows: t };
  }
  const shared = t === undefined
    ? Float64Array.from({ length }, (_, i) => i)
    : hostTimes(t, `${operation}: t`);
  if (shared.length !== length) {
    throw new ShapeError(`${operation}: t has ${shared.length} times for ${length} observations`);
  }
  checkIncreasing(shared, operation);
  return { shared };
}

function checkIncreasing(times: Float64Array, operation: string, where = ""): void {
  times.forEach((time, i) => {
    if (!Number.isFinite(time)) {
      throw new RangeError(`${operation}: ${where}t: t[${i}] is ${time}, expected a finite time`);
    }
    if (i > 0 && !(time > times[i - 1])) {
      throw new RangeError(
        `${operation}: ${where}t: times must increase, but t[${i - 1}] = ${
          times[i - 1]
        } and t[${i}] = ${time}`,
      );
    }
  });
}

/**
 * The largest relative change of a gap between adjacent times when the times are rounded to a type: 0 without rounding, 1 if two
 * times become equal.
 */
export function lostByRounding(times: ArrayLike<number>, dtype: DType): number {
  if (dtype !== "float32") return 0;
  let lost = 0;
  for (let i = 1; i < times.length; i++) {
    const gap = times[i] - times[i - 1];
    const rounded = Math.fround(times[i]) - Math.fround(times[i - 1]);
    lost = Math.max(lost, Math.abs((rounded - gap) / gap));
  }
  return lost;
}

/** Whether times are so far from zero that subtracting the first time makes them smaller. */
function isFar(times: ArrayLike<number>): boolean {
  return Math.abs(times[0]) > Math.abs(times[times.length - 1] - times[0]);
}

/**
 * Checks that a type has enough precision for times.
 *
 * @param name The times, for the message.
 * @throws {RangeError} If rounding changes a gap by more than a half. The limit is 0.01 if
 * subtracting the first time would help.
 */
export function checkResolution(times: ArrayLike<number>, dtype: DType, name: string): void {
  const lost = lostByRounding(times, dtype);
  const far = isFar(times);
  if (lost <= (far ? 0.01 : 0.5)) return;
  throw new RangeError(
    `${name} are ${times[0]} to ${
      times[times.length - 1]
    }, which ${dtype} cannot distinguish (rounding changes a ` +
      `gap by ${Math.round(100 * lost)} %): ` +
      (far ? "subtract the first time from all of them" : "use float64, or larger gaps between times"),
  );
}

/** Time between adjacent observations as a column that broadcasts against `(..., length - 1, channels)`. */
export function gapsOf(timeline: Timeline, dtype: DType): Tensor {
  if ("rows" in timeline) {
    const { rows } = timeline;
    return rows.slice(-1, 1).sub(rows.slice(-1, 0, -1)).cast(dtype).expandDims(-1);
  }
  const { shared } = timeline;
  return tensor(Float64Array.from({ length: shared.length - 1 }, (_, i) => shared[i + 1] - shared[i]), {
    shape: [shared.length - 1, 1],
    dtype,
  });
}

/**
 * {@linkcode gapsOf} for the columns of a block of series, starting with the series `first`: `(length - 1, 1)`, or
 * `(length - 1, columns)` if times differ between series.
 */
export function durationsOf(timeline: Timeline, block: Tensor, first: number): Tensor {
  if ("shared" in timeline) return gapsOf(timeline, block.dtype);
  const [series, length, channels] = block.shape;
  const rows = timeline.rows.reshape([-1, length]).slice(0, first, first + series);
  return toColumns(gapsOf({ rows }, block.dtype).broadcastTo([series, length - 1, channels]));
}
