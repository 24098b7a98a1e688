import { makeContiguous } from "../device/view.ts";
import type { TypedArray } from "../device/dtype.ts";
import { checkValues } from "../tensor/late_checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { StatePlace } from "./packed_state.ts";

/** A state that became infinite, NaN or larger than a bound, with its step, time and position. */
export class DivergenceError extends Error {
  /** `"DivergenceError"`. */
  override name = "DivergenceError";

  /** Called by the solvers. */
  constructor(
    /** The step that computed the state, counted from zero. */
    readonly step: number,
    /** The time at the end of the step. */
    readonly time: number,
    /** The sample: a position along the first axis of the state. */
    readonly sample: number,
    /** The element: a position along each other axis of the state. */
    readonly index: readonly number[],
    value: number,
    steps: number,
    axes: readonly string[] = [],
    advice = "smaller steps, a bounded vector field or a smaller learning rate may help",
    /** Dotted path of the leaf of a state that is a tree of tensors; empty if the state is a tensor. */
    readonly leaf = "",
  ) {
    const places = axes.map((axis, i) => `${axis} ${index[i]}`);
    const where = [`sample ${sample}`, ...places].join(", ");
    super(
      `the state${leaf && ` ${leaf}`} of ${where} became ${value} in step ${step} of ${steps}, ` +
        `which ends at t = ${time}; ${advice}`,
    );
  }
}

/** Why an adaptive solve does not reach its end. */
export type FailureReason = "maxSteps" | "dtMin" | "notFinite" | "precision";

/** The texts of the reasons, for messages. */
export const failureReasons: Readonly<Record<FailureReason, string>> = {
  maxSteps: "maxSteps is reached",
  dtMin: "its error needs a step below dtMin",
  notFinite: "the state is not finite there",
  precision: "its steps are too short to advance the time",
};

/** An adaptive solve that does not reach its end. */
export class NoProgressError extends RangeError {
  /** `"NoProgressError"`. */
  override name = "NoProgressError";

  /** Called by the solvers. */
  constructor(
    message: string,
    /**
     * `"maxSteps"`: too many steps. `"dtMin"`: the error of a step of the smallest size is too large. `"notFinite"`: the state or its
     * slope is infinite or NaN. `"precision"`: the steps are so short that the type of the state cannot add them to the time.
     */
    readonly reason: FailureReason,
  ) {
    super(message);
  }
}

/**
 * Checks that states are finite. On a GPU the values arrive later: the error is then thrown by the next call that reads values.
 *
 * @param states `(steps, ...state)`, the state after each step.
 * @param ends The times at which the steps end.
 * @param locate The place of an element, from its position in the state.
 * @param axes Names of the axes of the state, or of its leaves, after the first.
 * @throws {DivergenceError} For the first state that is not finite.
 */
export function checkStates(
  states: Tensor,
  ends: ArrayLike<number>,
  locate: (position: number) => StatePlace,
  axes?: readonly string[],
): void {
  const view = makeContiguous(states.memoryDevice, states.view);
  const [steps] = states.shape;
  const check = (values: TypedArray) => {
    const at = values.findIndex((value: number) => !Number.isFinite(value));
    if (at < 0) return;
    const perStep = values.length / steps;
    const step = Math.floor(at / perStep);
    const { leaf, sample, index } = locate(at % perStep);
    throw new DivergenceError(step, ends[step], sample, index, values[at], steps, axes, undefined, leaf);
  };
  checkValues(states.memoryDevice, view, check);
}
