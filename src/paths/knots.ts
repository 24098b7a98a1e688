/**
 * Missing observations. A channel's knots are the rows where it was observed; before the first of them and after the last
 * every row is a knot too, with the value of that observation, and a channel that was never observed is zero throughout.
 * These are torchcde's conventions. What lies between two knots is one gap, of one grid interval or more.
 */
import { isCapturing } from "../device/capture.ts";
import { sizeOf } from "../device/shape.ts";
import { concatenate } from "../tensor/functions.ts";
import { peekHostValues } from "../tensor/host.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { zeros } from "../tensor/creation.ts";
import { segmentedSum, segmentedSumBackwards } from "./columns.ts";

/** The gap that each grid interval of each column lies in: `(length - 1, columns)`, or one column for all. */
export interface Gaps {
  /** Values at both ends of the gap. */
  readonly start: Tensor;
  readonly end: Tensor;
  /** One over the gap's duration. */
  readonly inverse: Tensor;
  /** Time from the start of the gap to that of the interval; nothing where all rows are knots. */
  readonly offset?: Tensor;
  /** Rows that are knots, bool `(length, columns)`; all when left out. */
  readonly knots?: Tensor;
  /** Links of {@linkcode segmentedSum}s in which each knot begins a segment; none where all rows are knots. */
  readonly links?: Tensor;
}

/**
 * Whether observations may be missing (NaN): `undefined` where only the GPU could tell, or values may differ from call to call.
 *
 * @throws {RangeError} If an observation is infinite, where the host can tell.
 */
export function hasMissing(x: Tensor, operation: string): boolean | undefined {
  if (x.storage instanceof Symbolic || isCapturing()) return undefined;
  if (!x.memoryDevice.readSync) {
    const values = peekHostValues(x);
    values?.forEach((value, i) => checkObservation(x, value, i, operation));
    return values && values.some(Number.isNaN);
  }
  // A sum is finite only if every term is.
  const total = peekHostValues(withoutRecording(() => tidy(() => x.sum())));
  if (!total) return undefined;
  if (Number.isFinite(total[0])) return false;
  const infinite = peekHostValues(
    withoutRecording(() => tidy(() => x.abs().equal(Infinity).cast("int32").max())),
  );
  if (infinite?.[0] === 1) {
    peekHostValues(x)?.forEach((value, i) => checkObservation(x, value, i, operation));
  }
  return Number.isNaN(total[0]);
}

/**
 * @param given The i-th element of the tensor; the host may know it in float64.
 * @throws {RangeError} If the element is infinite.
 */
function checkObservation({ dtype, shape }: Tensor, given: number, i: number, operation: string): void {
  const value = dtype === "float32" ? Math.fround(given) : given;
  if (Math.abs(value) !== Infinity) return;
  const position = shape.map((size, axis) => Math.floor(i / sizeOf(shape.slice(axis + 1))) % size);
  throw new RangeError(
    `${operation}: x[${
      position.join(", ")
    }] is ${given}, expected a finite number, or NaN for a missing observation`,
  );
}

/**
 * The gaps of columns.
 *
 * @param x `(length, columns)`.
 * @param durations Of the grid intervals, `(length - 1, columns)` or `(length - 1, 1)`.
 */
export function gapsOfColumns(x: Tensor, durations: Tensor, missing: boolean): Gaps {
  if (!missing) {
    return { start: x.slice(0, 0, -1), end: x.slice(0, 1), inverse: durations.pow(-1) };
  }
  const { knots, links, before, after } = fillFromKnots(x);
  const { since, until } = distances(knots, links, durations);
  const offset = since.slice(0, 0, -1);
  return {
    start: before.slice(0, 0, -1),
    end: after.slice(0, 1),
    inverse: offset.add(durations).add(until.slice(0, 1)).pow(-1),
    offset,
    knots,
    links,
  };
}

/** Columns with missing values filled in linearly. */
export function fillLinearly(x: Tensor, durations: Tensor): Tensor {
  const { knots, links, before, after } = fillFromKnots(x);
  const { since, until } = distances(knots, links, durations);
  const fraction = since.div(knots.where(1, since.add(until)));
  return before.add(after.sub(before).mul(fraction));
}

/** The value of the last knot up to each row, and of the next one from it on; at a knot both are its own. */
function fillFromKnots(x: Tensor) {
  const isMissing = x.isNaN();
  const observed = isMissing.not();
  const none = x.zerosLike();
  const values = isMissing.where(none, x);
  const fromObserved = isMissing.cast(x.dtype);
  const ever = observed.cast(x.dtype);
  const [down, up] = [segmentedSum(fromObserved, values), segmentedSumBackwards(fromObserved, values)];
  const [seen, awaited] = [segmentedSum(fromObserved, ever), segmentedSumBackwards(fromObserved, ever)].map((
    count,
  ) => count.greater(0));
  const knots = observed.or(seen.and(awaited).not());
  return {
    before: seen.where(down, up),
    after: awaited.where(up, down),
    knots,
    links: knots.not().cast(x.dtype),
  };
}

/** Time since the last knot and until the next one, `(length, columns)`: zero at knots. */
function distances(knots: Tensor, links: Tensor, durations: Tensor) {
  const border = zeros([1, durations.shape[1]], { dtype: durations.dtype });
  const { shape } = knots;
  const timeBefore = concatenate([border, durations]).broadcastTo(shape);
  const timeAfter = concatenate([durations, border]).broadcastTo(shape);
  const none = timeBefore.zerosLike();
  return {
    since: segmentedSum(links, knots.where(none, timeBefore)),
    until: segmentedSumBackwards(links, knots.where(none, timeAfter)),
  };
}
