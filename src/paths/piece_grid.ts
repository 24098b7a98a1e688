/** The grid points of a piecewise path, and the search for the piece that contains a time. */
import { describe } from "../device/describe.ts";
import { formatShape, refuseShape, sameShape, type Shape, sizeOf } from "../device/shape.ts";
import type { DType } from "../device/dtype.ts";
import { checkWord } from "../tensor/checks.ts";
import { tensor } from "../tensor/creation.ts";
import { isRecording } from "../tensor/primitive.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Side } from "./path.ts";
import { checkResolution, lostByRounding, type Timeline, type Times } from "./times.ts";

/** The grid points of a piecewise path, on the host and as tensors. */
export interface Grid {
  /** The grid points in float64: one vector for all series, or a row for each series. */
  readonly timeline: Timeline;
  /** The grid points in the type of the path's values: `(length)` or `(series, length)`. */
  readonly gridPoints: Tensor;
  /** The first and the last grid point: `(2)` or `(series, 2)`. */
  readonly interval: Tensor;
  /** The grid points without the first and the last, padded with infinity for bisection: `(2 ** k - 1)` or `(series, 2 ** k - 1)`. */
  readonly interior: Tensor;
  /**
   * The largest relative error of the distance of neighbouring grid points that rounding to the type of `gridPoints`
   * causes. 0 if grid points differ between series: they are tensors of that type already.
   */
  readonly lost: number;
}

/** Maximum number of inner grid points that are all compared with a time. Bisection finds the piece among more points. */
const maxComparisons = 256;

/** {@linkcode maxComparisons} if each series has its own times, and so a comparison for each pair of a time and a grid point. */
const maxOwnComparisons = 16;

/** Makes the grid of a timeline for values of a type. */
export function makeGrid(timeline: Timeline, dtype: DType): Grid {
  if ("shared" in timeline) {
    const { shared } = timeline;
    const vector = (values: Float64Array) => tensor(values, { dtype });
    const interval = vector(Float64Array.of(shared[0], shared[shared.length - 1]));
    const interior = new Float64Array(tableLength(shared.length - 2)).fill(Infinity);
    interior.set(shared.subarray(1, -1));
    const lost = lostByRounding(shared, dtype);
    return { timeline, gridPoints: vector(shared), interval, interior: vector(interior), lost };
  }
  const rows = timeline.rows.cast(dtype);
  const length = rows.shape.at(-1)!;
  // A series of two observations has no inner grid points, so reshape cannot infer the number of series by -1.
  const inner = rows.slice(-1, 1, -1).reshape([sizeOf(rows.shape.slice(0, -1)), length - 2]);
  return {
    timeline,
    gridPoints: rows,
    interval: rows.slice(-1, 0, length, length - 1),
    interior: inner.pad([[0, 0], [0, tableLength(length - 2) - (length - 2)]], Infinity),
    lost: 0,
  };
}

const tableLength = (count: number) => 2 ** Math.ceil(Math.log2(count + 1)) - 1;

/**
 * The shared times of a grid.
 *
 * @throws {Error} If times differ between series.
 */
export function sharedTimes({ timeline }: Grid): Float64Array {
  if ("shared" in timeline) return timeline.shared;
  throw new Error(
    "the times of this path differ between series, so there is no common grid for the solver: use path.reparametrize() " +
      "(with time as a channel, the solution of a CDE does not change), or set the option stepSize of " +
      "the solver",
  );
}

/** The times of a timeline relative to an origin. */
export function timesSince({ timeline }: Grid, origin: number): Times {
  return "shared" in timeline ? timeline.shared.map((time) => time - origin) : timeline.rows.sub(origin);
}

/** The pieces that contain the times of an evaluation. */
interface Located {
  /**
   * Selects a row for each time from a table with a row for each piece, such as the coefficients: maps
   * `(..., pieces, values)` to `(..., values)` for one time, and to `(..., n, values)` for n times.
   */
  readonly pick: (rows: Tensor) => Tensor;
  /** The time since the start of the piece. It broadcasts against the result of `pick`. */
  readonly elapsed: Tensor | number;
}

/**
 * Finds the pieces that contain times. Times outside the grid belong to the first or the last piece.
 *
 * @param batch The axes before pieces and channels.
 * @param side The piece of a time at a grid point: before (`"left"`) or after the point.
 * @throws {TypeError} If `t` is not a time, an array or a tensor.
 * @throws {RangeError} If a time on the host is not finite, the side is unknown, or the type of a tensor of times cannot
 * distinguish adjacent grid points.
 */
export function locate(
  grid: Grid,
  t: Tensor | number | ArrayLike<number>,
  batch: Shape,
  side: Side,
): Located {
  checkTimes(t);
  checkWord("derivative", "side", side, ["left", "right"]);
  const { timeline, gridPoints } = grid;
  if ("shared" in timeline) {
    const { shared } = timeline;
    if (typeof t !== "number" && "length" in t) {
      const times = Array.from(t);
      const pieces = times.map((time) => pieceOf(shared, time, side));
      const rows = tensor(pieces, { dtype: "int32" });
      const elapsed = times.map((time, i) => time - shared[pieces[i]]);
      return {
        pick: (values) => values.take(rows, -2),
        elapsed: tensor(elapsed, { shape: [times.length, 1], dtype: gridPoints.dtype }),
      };
    }
    const time = plainNumber(t);
    if (time !== undefined) {
      const piece = pieceOf(shared, time, side);
      // Gradients can flow to a time that is a tensor.
      const elapsed = typeof t !== "number" && isRecording() ? t.sub(shared[piece]) : time - shared[piece];
      return { pick: (rows) => rows.select(-2, piece), elapsed };
    }
    if (grid.lost > 0.01) {
      checkResolution(
        shared,
        gridPoints.dtype,
        "evaluate: a tensor of times was given, but the path's times",
      );
    }
  }
  const at = typeof t !== "number" && "length" in t
    ? tensor([...Array.from(t)], { dtype: gridPoints.dtype })
    : t;
  if ("rows" in timeline || (at instanceof Tensor && at.rank > 1)) return locateEach(grid, at, batch, side);
  const piece = timeline.shared.length - 2 <= maxComparisons
    ? compare(grid, at as Tensor, side)
    : bisect(grid.interior, at as Tensor, side, undefined);
  return {
    pick: (rows) => rows.take(piece, -2),
    elapsed: (at as Tensor).sub(gridPoints.take(piece)).expandDims(-1),
  };
}

/** Checks the times that are on the host. */
function checkTimes(t: Tensor | number | ArrayLike<number>): void {
  const isList = typeof t === "object" && t !== null && (t instanceof Tensor || "length" in t);
  if (typeof t !== "number" && !isList) {
    throw new TypeError(
      `evaluate: t is ${describe(t)}, expected a time, an array of times or a tensor of times`,
    );
  }
  const times = t instanceof Tensor || typeof t === "number" ? [plainNumber(t) ?? 0] : Array.from(t);
  const wrong = times.findIndex((time) => !Number.isFinite(time));
  if (wrong < 0) return;
  const place = times.length > 1 ? `[${wrong}]` : "";
  throw new RangeError(`evaluate: t${place} is ${describe(times[wrong])}, expected a finite time`);
}

function pieceOf(times: Float64Array, time: number, side: Side): number {
  let piece = 0;
  for (let high = times.length - 2; piece < high;) {
    const middle = (piece + high + 1) >> 1;
    if (times[middle] < time || (side === "right" && times[middle] === time)) piece = middle;
    else high = middle - 1;
  }
  return piece;
}

/** Finds pieces if times or grids differ between series. */
function locateEach(grid: Grid, t: Tensor | number, batch: Shape, side: Side): Located {
  const series = sizeOf(batch);
  const { gridPoints } = grid;
  const scalar = typeof t === "number" || t.rank === 0;
  const at = typeof t === "number" ? gridPoints.slice(-1, 0, 1).zerosLike().add(t) : t;
  const hasRows = typeof t !== "number" && t.rank > 1;
  if (hasRows && !sameShape(at.shape.slice(0, -1), batch)) {
    refuseShape(
      "evaluate: times",
      at.shape,
      `one time, a vector, or (..., n) with the axes ${formatShape(batch)} of the path first`,
    );
  }
  const n = scalar ? 1 : at.shape.at(-1)!;
  const times = (typeof t === "number" ? at.reshape([-1, 1]) : at.reshape([-1, n])).broadcastTo([series, n]);
  const length = gridPoints.shape.at(-1)!;
  const rows = "rows" in grid.timeline;
  const first = tensor(Int32Array.from({ length: series }, (_, i) => i), {
    shape: [series, 1],
    dtype: "int32",
  });
  const piece = rows || length - 2 > maxOwnComparisons
    ? bisect(grid.interior, times, side, rows ? first.mul(grid.interior.shape.at(-1)!) : undefined)
    : compare(grid, times, side);
  const pickFlat = (values: Tensor, perSeries: boolean) => {
    const [count, width] = values.shape.slice(-2);
    const flat = perSeries ? piece.add(first.mul(count)) : piece;
    return values.reshape([-1, width]).take(flat).reshape([...batch, ...(scalar ? [] : [n]), width]);
  };
  return {
    pick: (values) => pickFlat(values, true),
    elapsed: times.reshape([...batch, ...(scalar ? [] : [n]), 1]).sub(
      pickFlat(gridPoints.expandDims(-1), rows),
    ),
  };
}

/** Whether a piece that starts at `starts` begins before `times`; with the side `"right"`, before or at `times`. */
function isBefore(starts: Tensor, times: Tensor, side: Side): Tensor {
  return side === "left" ? starts.less(times) : starts.lessEqual(times);
}

/** The piece of each time: the number of inner grid points before the time. */
function compare({ interior, gridPoints }: Grid, times: Tensor, side: Side): Tensor {
  const starts = interior.slice(0, 0, gridPoints.shape[0] - 2);
  return isBefore(starts, times.expandDims(-1), side).cast("int32").sum(-1);
}

/**
 * The piece of each time, by bisection: the number of smaller elements in a sorted table, computed bit by bit from the highest.
 *
 * @param table `(..., 2 ** k - 1)`, padded with infinity.
 * @param start Start of the row of each time in the flat table, int32; 0 by default.
 */
function bisect(table: Tensor, times: Tensor, side: Side, start: Tensor | undefined): Tensor {
  const flat = table.flatten();
  let at = start?.broadcastTo(times.shape);
  for (let half = (table.shape.at(-1)! + 1) / 2; half >= 1; half /= 2) {
    // A view of the table: a traced loop can then share the comparisons of all stages of a step.
    const middle = at ? flat.take(at.add(half - 1)) : flat.select(0, half - 1).broadcastTo(times.shape);
    const passed = isBefore(middle, times, side).cast("int32").mul(half);
    at = at ? at.add(passed) : passed;
  }
  at ??= times.zerosLike().cast("int32");
  return start ? at.sub(start) : at;
}

function plainNumber(t: Tensor | number): number | undefined {
  if (typeof t === "number") return t;
  if (t.rank > 0 || t.storage instanceof Symbolic || typeof t.storage.source !== "number") return undefined;
  return t.storage.source;
}
