/**
 * Takes known steps once more, in a compiled loop with a gradient. The gradient is that of the discrete solution for fixed step
 * times.
 */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { firstTime, justAfter, largestCount, type StepList, type Steps } from "./adaptive_search.ts";
import { columnShape } from "./adaptive_samples.ts";
import { type AdaptiveMethod, embeddedStep } from "./embedded.ts";
import { interpolate, type StepSupport, supportOf } from "./interpolation.ts";
import { stageTimes, type VectorField } from "../runge_kutta.ts";

/** The states at the output times except the first, `(times - 1, ...state)`. */
export function replay(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  { lists, norm, jumping }: Steps,
  options: ScanOptions,
): Tensor {
  const { dtype } = y0;
  const [begin, finish] = [times[0], times[times.length - 1]];
  const direction = Math.sign(finish - begin);
  const column = norm === "sample" ? columnShape(y0) : [];
  const steps = largestCount(lists.map(({ starts }) => starts.length));
  /**
   * Numbers of each step, `(steps, samples)`, or `(steps, 1)` if all samples share their steps. Finished samples take steps of
   * length zero at the end.
   */
  const table = (
    numbers: (list: StepList) => ArrayLike<number | boolean>,
    rest: (list: StepList) => number,
  ) => {
    const values = new Float64Array(steps * lists.length);
    lists.forEach((list, i) => {
      const [row, last] = [numbers(list), rest(list)];
      for (let step = 0; step < steps; step++) values[step * lists.length + i] = Number(row[step] ?? last);
    });
    return values;
  };
  const finishOf = ({ ends }: StepList) => ends[ends.length - 1];
  const [starts, ends] = [table((list) => list.starts, finishOf), table((list) => list.ends, finishOf)];
  const restarted = table((list) => list.restarted, () => 0);
  const rows = (values: Float64Array) => tensor(values, { shape: [steps, ...column], dtype });
  const row = {
    t: rows(starts),
    dt: rows(ends.map((end, i) => end - starts[i])),
    // The field has different values before and after a jump. Stages at a jump use the side on which the step lies.
    end: rows(ends.map((end, i) => restarted[i + lists.length] ? justAfter(end, -direction, dtype) : end)),
    ...(jumping
      ? { begin: rows(starts.map((start) => justAfter(start, direction, dtype))), restarted: rows(restarted) }
      : {}),
  };
  const first = scalar(firstTime(begin, direction, dtype, jumping), dtype).broadcastTo(column);
  // With steps per sample, each last step ends at the last time. Shared steps may end later.
  const isLastState = times.length === 2 && norm === "sample";
  const body = ([y, carried]: Tensor[], { t, dt, end, begin, restarted }: typeof row) => {
    const slope = begin && restarted ? restarted.greater(0).where(f(begin, y), carried) : carried;
    const step = embeddedStep(tableau, (t, [y]) => [f(t, y)], stageTimes(t, dt, end), dt, [y], [slope]);
    const support = isLastState ? [] : supportOf(tableau, step, [y], dt)[0];
    return [[step.y[0], step.stages.at(-1)![0]], support] as [Tensor[], StepSupport];
  };
  const [[last], support] = scan(body, [y0, f(first, y0)], row, scanOptionsOf(options));
  if (isLastState) return last.expandDims(0);

  const outputs = lists.map((list) => locate(list, times, direction));
  const places = Array.from(times.subarray(1), (_, k) => outputs.map((list) => list[k])).flat();
  const shape = norm === "sample" ? [times.length - 1, ...column] : undefined;
  const at = tensor(places.map(({ step }, i) => step * lists.length + i % lists.length), { dtype: "int32" });
  const samples = norm === "sample" ? y0.shape.slice(1) : y0.shape;
  const chosen = support.map((all) =>
    all.reshape([steps * lists.length, ...samples]).take(at).reshape([times.length - 1, ...y0.shape])
  );
  return interpolate(chosen as unknown as StepSupport, places.map(({ fraction }) => fraction), shape);
}

/** The step of each output time except the first, and the position in it: 0 at its start, 1 at its end. */
function locate(
  { starts, ends }: StepList,
  times: Float64Array,
  direction: number,
): { step: number; fraction: number }[] {
  let step = 0;
  return Array.from(times.subarray(1), (time) => {
    while (step < ends.length - 1 && direction * (ends[step] - time) < 0) step++;
    return { step, fraction: Math.min(1, (time - starts[step]) / (ends[step] - starts[step])) };
  });
}
