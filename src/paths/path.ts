import { hostTimes } from "../tensor/host.ts";
import { ShapeError } from "../device/shape.ts";
import type { DType } from "../device/dtype.ts";
import { tensor } from "../tensor/creation.ts";
import { Symbolic, type Tensor } from "../tensor/tensor.ts";

/** A control: a function of time with values in the channels, piecewise between grid points. */
export interface Path {
  /** Times at which the pieces meet, increasing, shape `(length,)`. */
  readonly gridPoints: Tensor;
  /** The first and the last time, shape `(2,)`. */
  readonly interval: Tensor;
  /** {@linkcode gridPoints} as plain numbers. */
  readonly times: Float64Array;
  /** X(t): `(..., channels)` for one time, `(..., n, channels)` for a vector of n times. */
  evaluate(t: Tensor | number): Tensor;
  /** dX/dt at t, in the shapes of {@linkcode evaluate}. At a grid point it is the derivative from the left. */
  derivative(t: Tensor | number): Tensor;
}

/** Times that paths are given: a vector, or 0, 1, ... when left out. */
export type Times = Tensor | ArrayLike<number>;

/** Checks times and returns them as plain numbers. @throws {ShapeError | RangeError} If they do not fit or do not increase. */
export function readTimes(t: Times | undefined, length: number, operation: string): Float64Array {
  if (length < 2) throw new ShapeError(`${operation}: a path needs two observations at least, got ${length}`);
  const times = t === undefined
    ? Float64Array.from({ length }, (_, i) => i)
    : hostTimes(t, `${operation}: t`);
  if (times.length !== length) {
    throw new ShapeError(`${operation}: ${times.length} times for ${length} observations`);
  }
  times.forEach((time, i) => {
    if (!Number.isFinite(time)) {
      throw new RangeError(`${operation}: t[${i}] is ${time}, expected a finite time`);
    }
    if (i > 0 && !(time > times[i - 1])) {
      throw new RangeError(
        `${operation}: times must increase, but t[${i - 1}] = ${times[i - 1]} and t[${i}] = ${time}`,
      );
    }
  });
  return times;
}

/** What every piecewise path knows of its times. */
export interface Grid {
  readonly times: Float64Array;
  readonly gridPoints: Tensor;
  readonly interval: Tensor;
  /** The times that separate two pieces, shape `(length - 2,)`. */
  readonly interior: Tensor;
}

export function makeGrid(times: Float64Array, dtype: DType): Grid {
  const vector = (values: Float64Array) => tensor(values, { dtype });
  return {
    times,
    gridPoints: vector(times),
    interval: vector(Float64Array.of(times[0], times[times.length - 1])),
    interior: vector(times.slice(1, -1)),
  };
}

/**
 * The rows of pieces that times fall in, and how far into them. A time on a grid point belongs to the piece before it,
 * and times outside belong to the first or the last piece.
 *
 * @param rows Shape `(..., pieces, channels)` or `(..., length, channels)`.
 */
export function locate(
  grid: Grid,
  t: Tensor | number,
): { pick: (rows: Tensor) => Tensor; elapsed: Tensor | number } {
  const time = plainNumber(t);
  if (time !== undefined) {
    const { times } = grid;
    let piece = 0;
    for (let high = times.length - 2; piece < high;) {
      const middle = (piece + high + 1) >> 1;
      if (times[middle] < time) piece = middle;
      else high = middle - 1;
    }
    return { pick: (rows) => rows.at(-2, piece), elapsed: time - times[piece] };
  }
  const at = t as Tensor;
  if (at.rank > 1) {
    throw new ShapeError(`evaluate: expected one time or a vector of times, got ${at.rank} axes`);
  }
  const piece = grid.interior.less(at.expandDims(-1)).cast("int32").sum(-1);
  return {
    pick: (rows) => rows.gather(piece, -2),
    elapsed: at.sub(grid.gridPoints.gather(piece)).expandDims(-1),
  };
}

function plainNumber(t: Tensor | number): number | undefined {
  if (typeof t === "number") return t;
  if (t.rank > 0 || t.storage instanceof Symbolic || typeof t.storage.source !== "number") return undefined;
  return t.storage.source;
}
