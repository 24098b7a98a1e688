import { formatShape, sameShape, type Shape, ShapeError, sizeOf } from "../device/shape.ts";
import { type DType, isFloat } from "../device/dtype.ts";
import { makeContiguous } from "../device/view.ts";
import { tensor } from "../tensor/creation.ts";
import { hostTimes, peekHostValues } from "../tensor/host.ts";
import { isRecording } from "../tensor/primitive.ts";
import { Symbolic, type Tensor } from "../tensor/tensor.ts";
import { toColumns } from "./columns.ts";

/** A control: a function of time with values in the channels, piecewise between grid points. */
export interface Path {
  /** Times at which the pieces meet, increasing: `(length,)`, or `(..., length)` where each series has its own. */
  readonly gridPoints: Tensor;
  /** The first and the last time: `(2,)`, or `(..., 2)`. */
  readonly interval: Tensor;
  /**
   * {@linkcode gridPoints} as plain numbers.
   *
   * @throws {Error} Where each series has times of its own: it says how to come to a common grid.
   */
  readonly times: Float64Array;
  /**
   * Whether the path up to a grid point depends on nothing that was observed after it. A model that predicts while
   * observations still arrive needs such a path.
   */
  readonly causal: boolean;
  /**
   * X(t): `(..., channels)` for one time, `(..., n, channels)` for a vector of n times, or for times `(..., n)` of which
   * each series has its own.
   */
  evaluate(t: Tensor | number): Tensor;
  /** dX/dt at t, in the shapes of {@linkcode evaluate}. At a grid point it is the derivative from the left. */
  derivative(t: Tensor | number): Tensor;
}

/**
 * Times that paths are given: a vector, 0, 1, ... when left out, or a tensor `(..., length)` in which each series has a
 * row of its own.
 */
export type Times = Tensor | ArrayLike<number>;

/** Options of paths. */
export interface PathOptions {
  /**
   * See {@linkcode Path.causal}. Known for coefficients as they were returned; to be given for ones that were stored, cut
   * or stacked since.
   */
  causal?: boolean;
}

/** Checked times of observations: shared by all series, on the host, or of each series, on its device. */
export type Timeline = { readonly shared: Float64Array } | { readonly rows: Tensor };

/** Checks observations `(..., length, channels)`. @throws {ShapeError | TypeError} If they are none. */
export function checkObservations(x: Tensor, operation: string): void {
  if (x.rank < 2) {
    throw new ShapeError(
      `${operation}: x has shape ${formatShape(x.shape)}, expected (..., length, channels)`,
    );
  }
  if (!isFloat(x.dtype)) {
    throw new TypeError(`${operation}: x is ${x.dtype}, expected float32 or float64; cast it first`);
  }
}

/**
 * Checks the times of series of a shape `(..., length)`. Where a GPU has computed them, what is wrong with their values is told
 * once they have arrived, as a rejection that nobody handles.
 *
 * @throws {ShapeError | RangeError} If they do not fit or do not increase.
 */
export function readTimeline(t: Times | undefined, shape: Shape, operation: string): Timeline {
  const length = shape.at(-1)!;
  if (length < 2) throw new ShapeError(`${operation}: a path needs two observations at least, got ${length}`);
  if (t !== undefined && !("length" in t) && t.rank > 1) {
    if (!sameShape(t.shape, shape)) {
      throw new ShapeError(
        `${operation}: t has shape ${
          formatShape(t.shape)
        }, expected (${length},) or, for times of each series, ` +
          formatShape(shape),
      );
    }
    const check = (values: Float64Array) => {
      for (let start = 0; start < values.length; start += length) {
        checkIncreasing(values.subarray(start, start + length), operation, `row ${start / length} of `);
      }
    };
    const values = peekHostValues(t);
    if (values) check(values);
    else {
      void t.device.read([makeContiguous(t.device, t.view)]).then(([later]) =>
        check(Float64Array.from(later))
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

/** Time between neighbouring observations as a column that broadcasts against `(..., length - 1, channels)`. */
export function gapsOf(timeline: Timeline, dtype: DType): Tensor {
  if ("rows" in timeline) {
    const { rows } = timeline;
    return rows.slice(-1, 1).sub(rows.slice(-1, 0, -1)).expandDims(-1);
  }
  const { shared } = timeline;
  return tensor(Float64Array.from({ length: shared.length - 1 }, (_, i) => shared[i + 1] - shared[i]), {
    shape: [shared.length - 1, 1],
    dtype,
  });
}

/**
 * As {@linkcode gapsOf} for the columns of a block of series, which begins with the series `first`: `(length - 1, 1)`, or
 * `(length - 1, columns)` for times of each series.
 */
export function durationsOf(timeline: Timeline, block: Tensor, first: number): Tensor {
  if ("shared" in timeline) return gapsOf(timeline, block.dtype);
  const [series, length, channels] = block.shape;
  const rows = timeline.rows.reshape([-1, length]).slice(0, first, first + series);
  return toColumns(gapsOf({ rows }, block.dtype).broadcastTo([series, length - 1, channels]));
}

/** What a piecewise path knows of its times. */
export interface Grid {
  readonly timeline: Timeline;
  readonly gridPoints: Tensor;
  readonly interval: Tensor;
  /** The times between two pieces, filled up with infinity to `(2 ** k - 1,)`, or `(series, 2 ** k - 1)`. */
  readonly interior: Tensor;
}

/** Vectors of times are compared with all grid points up to this many; beyond, positions are found by bisection. */
const longestComparison = 256;

/** As {@linkcode longestComparison} for times of each series. */
const longestOwnComparison = 16;

export function makeGrid(timeline: Timeline, dtype: DType): Grid {
  if ("shared" in timeline) {
    const { shared } = timeline;
    const vector = (values: Float64Array) => tensor(values, { dtype });
    const interval = vector(Float64Array.of(shared[0], shared[shared.length - 1]));
    const interior = new Float64Array(tableLength(shared.length - 2)).fill(Infinity);
    interior.set(shared.subarray(1, -1));
    return { timeline, gridPoints: vector(shared), interval, interior: vector(interior) };
  }
  const { rows } = timeline;
  const length = rows.shape.at(-1)!;
  const inner = rows.slice(-1, 1, -1).reshape([-1, length - 2]);
  return {
    timeline,
    gridPoints: rows,
    interval: rows.slice(-1, 0, length, length - 1),
    interior: inner.pad([[0, 0], [0, tableLength(length - 2) - (length - 2)]], Infinity),
  };
}

const tableLength = (count: number) => 2 ** Math.ceil(Math.log2(count + 1)) - 1;

/** The shared times of a grid. @throws {Error} If each series has its own. */
export function sharedTimes({ timeline }: Grid): Float64Array {
  if ("shared" in timeline) return timeline.shared;
  throw new Error(
    "each series of this path has times of its own, so there is no common grid to solve on: use path.reparametrize(), " +
      "whose i-th piece is that of every series (with time among the channels a CDE has the same solution), or give " +
      "the solver a stepSize",
  );
}

/** Pieces that times fall in. */
export interface Located {
  /**
   * The rows of those pieces: `(..., pieces, values)` to `(..., values)` or `(..., n, values)`; or of the grid points at
   * their starts.
   */
  readonly pick: (rows: Tensor) => Tensor;
  /** The time since the start of the piece, which broadcasts against what `pick` returns. */
  readonly elapsed: Tensor | number;
}

/**
 * Finds the pieces that times fall in. A time on a grid point belongs to the piece before it, and times outside belong to
 * the first or the last piece.
 *
 * @param batch The axes in front of pieces and channels.
 */
export function locate(grid: Grid, t: Tensor | number, batch: Shape): Located {
  if ("rows" in grid.timeline || (typeof t !== "number" && t.rank > 1)) return locateEach(grid, t, batch);
  const { shared } = grid.timeline;
  const time = plainNumber(t);
  if (time !== undefined) {
    const piece = pieceOf(shared, time);
    // A tensor of one number may be differentiated, a number cannot.
    const elapsed = typeof t !== "number" && isRecording() ? t.sub(shared[piece]) : time - shared[piece];
    return { pick: (rows) => rows.at(-2, piece), elapsed };
  }
  const at = t as Tensor;
  const piece = shared.length - 2 <= longestComparison
    ? compare(grid, at)
    : bisect(grid.interior, at, undefined);
  return {
    pick: (rows) => rows.gather(piece, -2),
    elapsed: at.sub(grid.gridPoints.gather(piece)).expandDims(-1),
  };
}

function pieceOf(times: Float64Array, time: number): number {
  let piece = 0;
  for (let high = times.length - 2; piece < high;) {
    const middle = (piece + high + 1) >> 1;
    if (times[middle] < time) piece = middle;
    else high = middle - 1;
  }
  return piece;
}

/** Each series at its own times, or on its own grid. */
function locateEach(grid: Grid, t: Tensor | number, batch: Shape): Located {
  const series = sizeOf(batch);
  const { gridPoints } = grid;
  const scalar = typeof t === "number" || t.rank === 0;
  const at = typeof t === "number" ? gridPoints.slice(-1, 0, 1).zerosLike().add(t) : t;
  const own = typeof t !== "number" && t.rank > 1;
  if (own && !sameShape(at.shape.slice(0, -1), batch)) {
    throw new ShapeError(
      `evaluate: times of shape ${
        formatShape(at.shape)
      }, expected one time, a vector, or (..., n) with the path's ` +
        `own axes ${formatShape(batch)} in front`,
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
  const piece = rows || length - 2 > longestOwnComparison
    ? bisect(grid.interior, times, rows ? first.mul(grid.interior.shape.at(-1)!) : undefined)
    : compare(grid, times);
  const pickFlat = (values: Tensor, perSeries: boolean) => {
    const [count, width] = values.shape.slice(-2);
    const flat = perSeries ? piece.add(first.mul(count)) : piece;
    return values.reshape([-1, width]).gather(flat).reshape([...batch, ...(scalar ? [] : [n]), width]);
  };
  return {
    pick: (values) => pickFlat(values, true),
    elapsed: times.reshape([...batch, ...(scalar ? [] : [n]), 1]).sub(
      pickFlat(gridPoints.expandDims(-1), rows),
    ),
  };
}

/** How many of the times between two pieces are less than each of some times. */
function compare({ interior, gridPoints }: Grid, times: Tensor): Tensor {
  return interior.slice(0, 0, gridPoints.shape[0] - 2).less(times.expandDims(-1)).cast("int32").sum(-1);
}

/**
 * How many elements of a sorted table are less than each time: a bit of the answer a round, from the highest.
 *
 * @param table `(..., 2 ** k - 1)`, filled up with infinity.
 * @param start Where the row of each time begins in the flat table, int32; 0 when left out.
 */
function bisect(table: Tensor, times: Tensor, start: Tensor | undefined): Tensor {
  const flat = table.flatten();
  const first = start ?? times.zerosLike().cast("int32");
  let at = first.broadcastTo(times.shape);
  for (let half = (table.shape.at(-1)! + 1) / 2; half >= 1; half /= 2) {
    const isLess = flat.gather(at.add(half - 1)).less(times);
    at = isLess.where(at.add(half), at);
  }
  return start ? at.sub(start) : at;
}

function plainNumber(t: Tensor | number): number | undefined {
  if (typeof t === "number") return t;
  if (t.rank > 0 || t.storage instanceof Symbolic || typeof t.storage.source !== "number") return undefined;
  return t.storage.source;
}

const causalCoefficients = new WeakSet<Tensor>();

/** Remembers of coefficients that a path made of them is causal. */
export function markCausal(coeffs: Tensor): Tensor {
  causalCoefficients.add(coeffs);
  return coeffs;
}

/** Whether a path of coefficients is causal, as far as is known. */
export function isCausal(coeffs: Tensor, { causal }: PathOptions): boolean {
  return causal ?? causalCoefficients.has(coeffs);
}
