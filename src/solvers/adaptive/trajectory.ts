/** States at any times of a solve, from the steps that it took. */
import { tensor } from "../../tensor/creation.ts";
import { stack, stopGradient } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tableOf, tableOfColumns, writtenTable } from "./step_table.ts";
import { latest } from "./clock.ts";
import {
  interpolateAt,
  memberAxis,
  splitSupport,
  supportSize,
  writeSupportWeights,
} from "./interpolation.ts";
import type { StepList, Steps } from "./steps.ts";

/** Steps that were taken, and the data of the interpolation within each of them. */
export interface Trajectory {
  readonly steps: Steps;
  readonly direction: number;
  /** The joined supports of all steps, `(steps, batch, supportSize, ...)`. */
  readonly support: Tensor;
}

/** Rows of states at times. */
export interface Saved {
  /** `(rows, ...state)`. Where no state is valid, some finite state. */
  readonly y: Tensor;
  /** Whether the solve has reached each time, `(rows)` or `(rows, samples)`. Missing if it has reached all. */
  readonly valid?: Tensor;
}

/** Times of a list of steps, in the order of the solve, with NaN at the end. `position` is that of the list. */
export interface RowTimes {
  readonly count: number;
  readonly of: (list: StepList, position: number) => ArrayLike<number>;
  /** All finite times. */
  readonly all: readonly number[];
  /** Whether samples with shared steps have separate times. */
  readonly ofSamples?: boolean;
}

/** Lists for each sample, also if the samples share their steps. */
function listsOf({ steps: { lists, norm } }: Trajectory, y0: Tensor, ofSamples: boolean) {
  const samples = ofSamples || norm === "sample" ? y0.shape[0] : 1;
  const isShared = samples > 1 && norm !== "sample";
  return {
    lists: isShared ? lists.flatMap((list) => Array<StepList>(samples).fill(list)) : lists,
    samples,
    columns: ofSamples || norm === "sample" ? [samples] : [],
  };
}

/** The support in a step for each row and sample. `at` is `(rows, samples)`, the step times `samples` plus the sample. */
function choose(support: Tensor, at: Tensor, samples: number, rows: number): Tensor {
  const [steps, ...shape] = support.shape;
  const rest = samples === 1 ? shape : shape.slice(1);
  return support.reshape([steps * samples, ...rest]).take(at.flatten()).reshape([rows, ...shape]);
}

/** The shape of one number for each row, or for each row and sample, which broadcasts against rows of states. */
function rowShape(rows: number, { shape }: Tensor, columns: readonly number[]): number[] {
  return [rows, ...shape.map((_, axis) => axis === 0 ? columns[0] ?? 1 : 1)];
}

/** The states at times that the host knows, and the times, `(rows)` or `(rows, samples)`, NaN for padding. */
export function readRows(
  trajectory: Trajectory,
  y0: Tensor,
  times: Omit<RowTimes, "all">,
): Saved & { readonly t: Tensor } {
  const { steps: { examples, norm }, direction, support } = trajectory;
  const { dtype } = y0;
  const { count, ofSamples = false } = times;
  const { lists, samples, columns } = listsOf(trajectory, y0, ofSamples || norm === "sample");
  const all = { lists, examples };
  const ownTimes = lists.map((list, i) => {
    const own = new Float64Array(count).fill(NaN);
    own.set(times.of(list, i));
    return own;
  });
  const isReached = ({ ends, failure }: StepList, i: number) =>
    ownTimes[i].map((time) =>
      Number(!Number.isNaN(time) && !(failure && direction * (time - ends[ends.length - 1]) > 0))
    );
  const isWhole = lists.every(({ failure }) => !failure) && !ownTimes.some((own) => own.includes(NaN));
  /** The positions of the times in their steps, by list. */
  const fractions = new Float64Array(lists.length * count);
  const at = writtenTable(all, count, columns, "int32", ({ starts, ends }, i, into, first, stride) => {
    let step = 0;
    for (let row = 0; row < count; row++) {
      const time = ownTimes[i][row];
      while (step < ends.length - 1 && direction * (ends[step] - time) < 0) step++;
      into[first + row * stride] = step * samples + i % samples;
      fractions[i * count + row] = Math.min(1, (time - starts[step]) / (ends[step] - starts[step])) || 0;
    }
  });
  const axis = memberAxis(y0.rank);
  const row = rowShape(count, y0, columns).slice(1).toSpliced(axis, 0, supportSize);
  const weights = writtenTable(all, count, row, dtype, (_, i, into, first, stride) => {
    for (let row = 0; row < count; row++) {
      writeSupportWeights(fractions[i * count + row], into, first + row * stride);
    }
  }, supportSize);
  return {
    y: choose(support, at, samples, count).mul(weights).sum(axis + 1),
    get t() {
      return tableOfColumns(all, count, columns, (_, i) => ownTimes[i], dtype);
    },
    valid: isWhole ? undefined : tableOfColumns(all, count, columns, isReached, dtype),
  };
}

/**
 * The states, or their derivatives, at times that may depend on anything.
 *
 * @param t `(rows)`, or `(samples, rows)`.
 */
export function readAt(trajectory: Trajectory, y0: Tensor, t: Tensor, isDerivative: boolean): Tensor {
  const { steps: { examples }, direction, support } = trajectory;
  const { dtype } = y0;
  const { lists, samples, columns } = listsOf(trajectory, y0, t.rank === 2);
  const steps = support.shape[0];
  const times = columns.length === 0 ? t : t.rank === 2 ? t.permute([1, 0]) : t.expandDims(-1);
  const rows = times.shape[0];
  const table = (length: number, number: (list: StepList, step: number) => number) =>
    tableOf({ lists, examples }, length, columns, number, dtype);
  const last = (list: StepList, step: number) => Math.min(step, list.starts.length - 1);
  const bounds = table(steps, ({ ends }, step) => step < ends.length - 1 ? direction * ends[step] : latest);
  const forwards = stopGradient(times).mul(direction);
  const step = forwards.expandDims(0).greater(bounds.expandDims(1)).cast(dtype).sum(0);
  const own = tensor(Float64Array.from({ length: samples }, (_, i) => i), { shape: columns, dtype: "int32" });
  const at = step.cast("int32").mul(samples).add(own);
  const read = (number: (list: StepList, step: number) => number) =>
    table(steps, number).flatten().take(at.flatten()).reshape([rows, ...columns]);
  const start = read((list, step) => list.starts[last(list, step)]);
  const length = read((list, step) => list.ends[last(list, step)] - list.starts[last(list, step)] || 1);
  const wide = (x: Tensor) => x.reshape(rowShape(rows, y0, columns));
  const chosen = splitSupport(choose(support, at, samples, rows));
  const y = interpolateAt(chosen, wide(times.sub(start).div(length)), isDerivative);
  const result = isDerivative ? y.div(wide(length)) : y;
  if (lists.every(({ failure }) => !failure)) return result;
  const limit = table(1, ({ failure, ends }) => failure ? direction * ends.at(-1)! : latest);
  return wide(forwards.greater(limit).cast(dtype)).greater(0).where(NaN, result);
}

/** The trajectory of steps that all samples share, from the states at their ends and, for cubic pieces, the slopes there. */
export function trajectoryOf(grid: Float64Array, states: Tensor, slopes?: Tensor): Trajectory {
  const steps = grid.length - 1;
  const [start, end] = [states.slice(0, 0, -1), states.slice(0, 1)];
  const dt = tensor(Float64Array.from({ length: steps }, (_, i) => grid[i + 1] - grid[i]), {
    shape: [steps, ...states.shape.slice(1).map(() => 1)],
    dtype: states.dtype,
  });
  const [before, after] = slopes
    ? [slopes.slice(0, 0, -1).mul(dt), slopes.slice(0, 1).mul(dt)]
    : [end.sub(start), end.sub(start)];
  const middle = start.add(end).mul(0.5).add(before.sub(after).mul(0.125));
  const [starts, ends] = [grid.subarray(0, -1), grid.subarray(1)];
  const list = { starts, ends, restarted: new Uint8Array(steps), rejected: 0 };
  return {
    steps: { norm: "batch", lists: [list], examples: [], evaluations: 0, jumping: false },
    direction: Math.sign(grid[steps] - grid[0]),
    support: stack([start, middle, end, before, after], 1 + memberAxis(states.rank - 1)),
  };
}
