import { makeContiguous } from "../device/view.ts";
import type { TypedArray } from "../device/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** A state that became infinite or NaN, and where. */
export class DivergenceError extends Error {
  /** `"DivergenceError"`. */
  override name = "DivergenceError";

  /** Made by the solvers. */
  constructor(
    /** The step that gave the state, counted from zero. */
    readonly step: number,
    /** The time at the step's end. */
    readonly time: number,
    /** The sample, a position along the state's first axis. */
    readonly sample: number,
    value: number,
    steps: number,
  ) {
    super(
      `the state of sample ${sample} became ${value} in step ${step} of ${steps}, which ends at t = ${time}; ` +
        "smaller steps, a bounded vector field or a smaller learning rate may help",
    );
  }
}

/**
 * Looks for the first state that is not finite. On a GPU the values arrive later, and so does the error, as a rejection
 * that nobody handles.
 *
 * @param states `(steps, ...state)`, the state after each step.
 * @param ends The times at which the steps end.
 * @throws {DivergenceError} Where there is one.
 */
export function checkStates(states: Tensor, ends: ArrayLike<number>): void {
  const view = makeContiguous(states.device, states.view);
  const [steps, samples = 1] = states.shape;
  const check = (values: TypedArray) => {
    const at = values.findIndex((value: number) => !Number.isFinite(value));
    if (at < 0) return;
    const perStep = values.length / steps;
    const step = Math.floor(at / perStep);
    const sample = Math.floor(at % perStep / (perStep / samples));
    throw new DivergenceError(step, ends[step], sample, values[at], steps);
  };
  const words = states.device.readSync?.(view);
  if (words) check(words);
  else void states.device.read([view]).then(([values]) => check(values));
}
