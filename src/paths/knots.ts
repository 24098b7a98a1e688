/**
 * Missing observations, with the conventions of torchcde. The knots of a channel are its observed rows. Rows before the first and after
 * the last observation are also knots, with the value of that observation. A channel without observations is zero everywhere. A gap
 * lies between two adjacent knots and spans one or more grid intervals.
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

/** The gap around each grid interval of each column: `(length - 1, columns)`, or one column for all. */
export interface Gaps {
  /** Values at both ends of the gap. */
  readonly start: Tensor;
  readonly end: Tensor;
  /** The reciprocal of the duration of the gap. */
  readonly inverse: Tensor;
  /** Time from the start of the gap to the start of the interval. Undefined if all rows are knots. */
  readonly offset?: Tensor;
  /** Whether rows are knots: bool `(length, columns)`. Undefined if all rows are knots. */
  readonly knots?: Tensor;
  /** Links of a {@linkcode segmentedSum} whose segments start at knots. Undefined if all rows are knots. */
  readonly links?: Tensor;
}

/**
 * Whether observations are missing (NaN). `undefined` if the values are only on a GPU, or may change between calls.
 *
 * @throws {RangeError} If an observation is infinite and the host knows its value.
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
 * @param element The i-th element, possibly in float64.
 * @throws {RangeError} If the element is infinite.
 */
function checkObservation({ dtype, shape }: Tensor, element: number, i: number, operation: string): void {
  const value = dtype === "float32" ? Math.fround(element) : element;
  if (Math.abs(value) !== Infinity) return;
  const position = shape.map((size, axis) => Math.floor(i / sizeOf(shape.slice(axis + 1))) % size);
  throw new RangeError(
    `${operation}: x[${
      position.join(", ")
    }] is ${element}, expected a finite number, or NaN for a missing observation`,
  );
}

/**
 * The gaps of columns.
 *
 * @param x `(length, columns)`.
 * @param durations Durations of the grid intervals, `(length - 1, columns)` or `(length - 1, 1)`.
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

/** Fills missing values of columns by linear interpolation. */
export function fillLinearly(x: Tensor, durations: Tensor): Tensor {
  const { knots, links, before, after } = fillFromKnots(x);
  const { since, until } = distances(knots, links, durations);
  const fraction = since.div(knots.where(1, since.add(until)));
  return before.add(after.sub(before).mul(fraction));
}

/** The values of the last knot at or before each row, and of the next knot at or after each row. */
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

/** Time since the last knot and until the next knot, `(length, columns)`. Zero at knots. */
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
