/** Steps of adaptive methods that do not depend on errors. */
import type { Tensor } from "../../tensor/tensor.ts";
import { sizeOnly } from "../control/controller.ts";
import { type StepChoice, stepTimes } from "../fixed/step_times.ts";
import type { AdaptiveMethod } from "./embedded.ts";
import type { AdaptiveOptions, Steps } from "./steps.ts";

/** The steps from the first to the last time, which also end at each jump. They need no search. */
export function stepsOnGrid(
  tableau: AdaptiveMethod,
  y0: Tensor,
  times: Float64Array,
  choice: StepChoice,
  { jumps, norm }: Pick<AdaptiveOptions, "jumps" | "norm">,
): Steps {
  const [begin, finish] = [times[0], times[times.length - 1]];
  const between = stepTimes(Float64Array.of(begin, finish), { grid: jumps ?? [] });
  const points = [...between.subarray(1)].flatMap((end, i) => [
    ...stepTimes(Float64Array.of(between[i], end), choice).subarray(1),
  ]);
  const all = Float64Array.from([begin, ...points]);
  const [starts, ends] = [all.subarray(0, -1), all.subarray(1)];
  const jumped = new Set(between);
  const restarted = Uint8Array.from(starts, (start) => Number(jumped.has(start)));
  const list = { starts, ends, restarted, rejected: 0 };
  return {
    norm,
    lists: Array.from({ length: norm === "sample" ? y0.shape[0] : 1 }, () => list),
    examples: [],
    evaluations: starts.length * tableau.a.length + restarted.filter(Boolean).length,
    jumping: jumps !== undefined,
  };
}

/** Options of a search that takes the same steps between any of the times, also backwards. */
export function sameSteps(
  { lists }: Steps,
  times: Float64Array,
): Pick<AdaptiveOptions, "stops" | "stepSize" | "controller"> {
  const stepSize = Math.abs(times[times.length - 1] - times[0]);
  return { stops: [...times, ...lists[0]?.ends ?? []], stepSize, controller: sizeOnly(stepSize) };
}
