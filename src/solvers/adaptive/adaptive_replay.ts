/**
 * Takes known steps once more, in a compiled loop with a gradient. The gradient is that of the discrete solution for fixed step
 * times.
 */
import { scanOf, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { scalar, zeros } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { derivativeOrder } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type AdaptiveOptions,
  columnShape,
  firstTime,
  justAfter,
  largestCount,
  type StepList,
  type Steps,
} from "./steps.ts";
import { type AdaptiveMethod, embeddedStep, keyOf, withConstants } from "./embedded.ts";
import { joinSupport, supportOf } from "./interpolation.ts";
import { type ColumnOf, tableOfColumns } from "./step_table.ts";
import { stageTimes } from "../runge_kutta.ts";
import { textOf } from "../../device/scalar/structure_text.ts";
import type { ClosedField } from "../traced_functions.ts";

/** Steps that were taken. */
interface Replayed {
  readonly last: Tensor;
  readonly steps: Steps;
  /** As of a trajectory, if it was asked for. */
  readonly support?: Tensor;
}

/**
 * Takes known steps.
 *
 * @param slope The slope at the first time. By default evaluated here.
 * @param keepsSteps Whether states within the steps are needed.
 */
export function replay(
  tableau: AdaptiveMethod,
  { f, closure }: ClosedField,
  y0: Tensor,
  [begin, finish]: readonly [number, number],
  accepted: Steps,
  { jumps, watchedJumps, ...options }: ScanOptions & Pick<AdaptiveOptions, "jumps" | "watchedJumps">,
  keepsSteps: boolean,
  slope?: Tensor,
): Replayed {
  const { norm, jumping, examples } = accepted;
  // A sample without an accepted step stays where it is.
  const lists = accepted.lists.map((list) =>
    list.failure && list.starts.length === 0
      ? { ...list, starts: Float64Array.of(begin), ends: Float64Array.of(begin) }
      : list
  );
  const isStill = lists.some((list, i) => list !== accepted.lists[i]);
  const { dtype } = y0;
  const direction = Math.sign(finish - begin);
  const column = norm === "sample" ? columnShape(y0) : [];
  const perExample = norm === "sample" ? y0.shape[0] : 1;
  const counts = lists.map(({ starts }) => starts.length);
  const steps = largestCount(counts);
  const table = (numbers: ColumnOf, type = dtype) =>
    tableOfColumns({ lists, examples }, steps, column, numbers, type);
  // A sample that is done takes its first step again, which has finite gradients, and drops the result.
  const rows = (of: (list: StepList) => ArrayLike<number>) => table((list) => of(list));
  /** Zeros, whose gradient flows to the jump at the start of each step; the last is for steps without. */
  const moves = watchedJumps &&
    concatenate([watchedJumps.sub(stopGradient(watchedJumps)).cast(dtype), zeros([1], { dtype })]);
  const jumpAt = ({ starts, restarted }: StepList, step: number) => {
    const among = Array.from(jumps!).slice(0, watchedJumps!.size);
    const distance = (i: number) => Math.abs(among[i] - starts[step]);
    return step > 0 && restarted[step]
      ? [...among.keys()].reduce((best, i) => distance(i) < distance(best) ? i : best, 0)
      : among.length;
  };
  const perStep = steps * (norm === "sample" ? perExample : 1);
  const jumpsOf = (list: StepList) =>
    Array.from(
      { length: steps },
      (_, step) => step < list.starts.length ? jumpAt(list, step) : watchedJumps!.size,
    );
  const row = {
    ...(moves
      ? {
        move: moves.take(table(jumpsOf, "int32").reshape([perStep])).reshape([
          steps,
          ...column,
        ]),
      }
      : {}),
    t: rows(({ starts }) => starts),
    dt: rows(({ starts, ends }) => ends.map((end, i) => end - starts[i])),
    // The field has different values before and after a jump. Stages at a jump use the side on which the step lies.
    end: rows(({ ends, restarted }) =>
      jumping ? ends.map((end, i) => restarted[i + 1] ? justAfter(end, -direction, dtype) : end) : ends
    ),
    ...(jumping
      ? {
        begin: rows(({ starts }) => starts.map((start) => justAfter(start, direction, dtype))),
        restarted: rows(({ restarted }) => restarted),
      }
      : {}),
    ...(counts.some((count) => count < steps)
      ? { active: table(({ starts }) => new Uint8Array(steps).fill(1, 0, starts.length)) }
      : {}),
  };
  const first = scalar(firstTime(begin, direction, dtype, jumping), dtype).broadcastTo(column);
  const firstSlope = slope ?? f(first, y0);
  const [initial, initialSlope] = [y0, firstSlope].map(stopGradient);
  const { method, tensors } = withConstants(tableau, y0, norm);
  const body = ([y, carried]: Tensor[], { t, dt, end, begin, restarted, active, move }: typeof row) => {
    const isActive = active?.greater(0);
    const keep = (after: Tensor, before: Tensor) => isActive ? isActive.where(after, before) : after;
    const [start, startSlope] = [keep(y, initial), keep(carried, initialSlope)];
    const from = begin && move ? start.add(stopGradient(startSlope.sub(f(begin, start))).mul(move)) : start;
    const slope = begin && restarted ? restarted.greater(0).where(f(begin, from), startSlope) : startSlope;
    const step = embeddedStep(method, (t, [y]) => [f(t, y)], stageTimes(t, dt, end), dt, [from], [slope]);
    const next = [keep(step.y[0], y), keep(step.stages.at(-1)![0], carried)];
    if (!keepsSteps) return [next, []] as [Tensor[], Tensor[]];
    const taken = supportOf(tableau, step, [from], dt)[0];
    const support = isStill ? taken.map((x, i) => dt.equal(0).where(i < 3 ? from : 0, x)) : taken;
    return [next, [joinSupport(support)]] as [Tensor[], Tensor[]];
  };
  const [[last], [support]] = scanOf(
    body,
    [y0, firstSlope],
    row,
    scanOptionsOf(options),
    closure && {
      key: textOf([
        "replay",
        keyOf(tableau),
        Object.keys(row),
        keepsSteps,
        isStill,
        derivativeOrder(),
        closure.key,
      ]),
      tensors: [initial, initialSlope, ...tensors, ...closure.tensors],
    },
  );
  return { last, steps: { ...accepted, lists }, support };
}
