import { checkFunction, checkTensor, checkWord } from "../tensor/checks.ts";
import { checkOptions, type OptionNames } from "../device/options.ts";
import { scalar } from "../tensor/creation.ts";
import { stopGradient } from "../tensor/functions.ts";
import { vjp } from "../autodiff/grad.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkResolution } from "../paths/times.ts";
import { hostTimes } from "../tensor/host.ts";
import { NoValuesError } from "../tensor/symbolic.ts";
import { derivativeOrder, hasValues, isWatched, withoutRecording } from "../tensor/primitive.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { isCapturing } from "../device/capture.ts";
import { TracedFunction } from "../compile/loop/loop.ts";
import { inEachCall } from "../compile/jit/each_call.ts";
import type { EventGoal } from "./adaptive/adaptive_search.ts";
import { tableOf } from "./adaptive/adaptive_replay.ts";
import { cannotRead, findEvent, nearestOf } from "./adaptive/adaptive.ts";
import { isAdaptive, methodOf, withStageTolerances } from "./methods.ts";
import { checkAdaptiveOptions, checkField } from "./check_arguments.ts";
import { odeDefaults } from "./defaults.ts";
import { rk4 } from "./methods/rk4.ts";
import { solvePacked } from "./odeint.ts";
import { packField, packState } from "./packed_state.ts";
import { solveOptionNames, type SolveOptions } from "./solve_options.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import { peekBeneath } from "../compile/loop/while_loop.ts";
import { rungeKuttaStep, type VectorField } from "./runge_kutta.ts";
import { usesTime } from "./time_origin.ts";

/** Options of a solve up to an event. */
export interface EventOptions extends SolveOptions {
  /**
   * Whether time runs backwards.
   *
   * @default {false}
   */
  reverseTime?: boolean;
  /**
   * The crossings of zero that are events: of increasing numbers (`"up"`), of decreasing numbers (`"down"`), in the direction of the
   * solve, or `"both"`. A number that is zero at the start must have a direction: its next crossing in this direction is an event.
   *
   * @default {"both"}
   */
  direction?: "up" | "down" | "both";
}

const eventOptionNames: OptionNames<EventOptions> = {
  ...solveOptionNames,
  reverseTime: "optional",
  direction: "optional",
};

/**
 * Solves dy/dt = f(t, y) until a function of the state crosses zero, as torchdiffeq's `odeint_event`. Gradients flow through
 * the state and the time of the event. (Chen, Amos, Nickel, "Learning Neural Event Functions for Ordinary Differential
 * Equations", 2021.)
 *
 * The time and the state have the accuracy of a solve whose last step ends at the event. Interpolated states are not used, because
 * `bosh3` and `dopri8` interpolate less accurately than their tolerances. For an oscillation, a decay and logistic growth with
 * `rtol` and `atol` from 1e-4 to 1e-10, the error of the time is at most 1 times the tolerance with `dopri8`, 4 times with
 * `tsit5`, 12 times with `dopri5` and 45 times with `bosh3`.
 *
 * @example
 * ```ts
 * import { odeintEvent, stack, type Tensor, tensor } from "@weft/weft";
 *
 * // A ball falls from 10 m: when does it reach the ground?
 * const fall = (_t: unknown, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().add(-9.81)]);
 * const { t } = odeintEvent(fall, tensor([10, 0]), 0, (_t, y) => y.select(0, 0));
 * console.log(await t.item()); // 1.43
 * ```
 *
 * @param y0 The state at `t0`: a tensor or a tree of tensors, as in {@linkcode odeint}.
 * @param t0 The time of `y0`. If it is a tensor, first-order gradients flow to it.
 * @param event Returns numbers. The first that crosses zero ends the solve. Inside `vmap` each example has its own event. Signs
 * are compared at the ends of steps: two sign changes within one step are not seen, unless `jumpTimes` end a step between them.
 * @param options The method must be adaptive; `"dopri5"` by default.
 * @returns The time as a scalar, and the state at this time, of the structure and shapes of `y0`.
 * @throws {RangeError} If the method is not adaptive, `steps` or `norm: "sample"` is given, `t0` is infinite or NaN, the event
 * function is zero at the start and has no `direction`, no event is found within `maxSteps` steps, or the type of the state
 * cannot distinguish the time of the event from the start.
 * @throws {ShapeError} If the event function returns an empty tensor, or `t0` is not a single time.
 * @throws {TypeError} If the event function returns bool.
 * @throws {Error} If gradients of an order above four are requested, or `t0` differs between examples of `vmap`.
 */
export function odeintEvent<S extends Tree>(
  f: VectorField<S>,
  y0: S,
  t0: Tensor | number,
  event: (t: Tensor, y: S) => Tensor,
  options: EventOptions = {},
): { t: Tensor; y: S } {
  checkFunction("odeintEvent", "f", f);
  checkFunction("odeintEvent", "event", event);
  checkOptions("odeintEvent", options, eventOptionNames);
  const { reverseTime = false, direction = "both", method = odeDefaults.method, ...others } = options;
  const tableau = methodOf(method);
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `odeintEvent: ${tableau.name} has fixed steps; use an adaptive method, such as dopri5`,
    );
  }
  if (others.norm === "sample" || others.steps) {
    const option = others.steps ? "steps" : 'norm "sample"';
    throw new RangeError(
      `odeintEvent: ${option} is not supported: all samples share the steps and the time of the event, which odeintEvent finds itself; ` +
        "omit the option",
    );
  }
  if (others.controller?.kind === "fixed" && others.controller.grid) {
    throw new RangeError(
      "odeintEvent: a controller of stepTo has no steps after its last time; use constantStepSize, or integralController with stepTimes",
    );
  }
  const state = packState(y0, "odeintEvent");
  const { dtype } = state.y0;
  if (t0 instanceof Tensor && !hasValues(t0)) {
    throw new NoValuesError(
      "odeintEvent: t0 has no values inside vmap and in the body of a compiled loop; pass one t0 for all examples",
    );
  }
  const starts = typeof t0 === "number"
    ? [t0]
    : hostTimes(t0 instanceof Tensor && isWatched(t0) ? stopGradient(t0) : t0, "odeintEvent: t0");
  if (starts.length !== 1) {
    throw new ShapeError(
      `odeintEvent: t0 has ${starts.length} times, expected one time at which all samples start`,
    );
  }
  const [start] = starts;
  if (!Number.isFinite(start)) {
    throw new RangeError(`odeintEvent: t0 is ${start}, expected a finite time`);
  }
  checkWord("odeintEvent", "direction", direction, ["up", "down", "both"]);
  const adaptive = checkAdaptiveOptions(options, state, 0, odeDefaults);
  const move = t0 instanceof Tensor && isWatched(t0)
    ? t0.reshape([]).sub(stopGradient(t0.reshape([])))
    : undefined;
  const valuesOf = (t: Tensor, y: Tensor) => {
    const values = event(t, state.unpack(y));
    checkTensor("odeintEvent: the result of the event function", values);
    if (values.dtype === "bool") {
      throw new TypeError(
        "odeintEvent: the event function returned bool, expected numbers that cross zero; return a difference, such as " +
          "y.sub(0.5), instead of a comparison, such as y.less(0.5)",
      );
    }
    if (values.size === 0) {
      throw new ShapeError(
        `odeintEvent: the event function returned ${formatShape(values.shape)} for a state of ${
          formatShape(state.y0.shape)
        }, which is empty; expected at least one sample and one number`,
      );
    }
    return values.flatten();
  };
  const goal = (values: VectorField): EventGoal => ({
    values: (t, [y]) => values(t, y),
    crosses: (before, after) => {
      const isCrossed = before.equal(0).or(after.mul(before.sign()).greater(0)).not();
      if (direction === "both") return isCrossed;
      return isCrossed.and(direction === "up" ? before.less(0) : before.greater(0));
    },
  });
  const solve = (f: VectorField, values: VectorField, y0: Tensor): { t: Tensor; y: Tensor } => {
    checkStart(stopGradient(withoutRecording(() => values(scalar(start, dtype), y0))), direction);
    const { steps: found, signs } = findEvent(
      withStageTolerances(tableau, adaptive),
      checkField(f),
      y0,
      start,
      reverseTime ? -1 : 1,
      { ...adaptive, compile: options.compile },
      goal(values),
    );
    const ends = found.lists.map((list) => list.ends.at(-1)!);
    for (const end of ends) checkResolution([start, end], dtype, "odeintEvent: the start and the event");
    // Inside vmap each example has its own event. After it, the state of an example stays the same.
    const end = ends.reduce((a, b) => Math.abs(b - start) > Math.abs(a - start) ? b : a);
    const t = tableOf(found, 1, [], (_, __, i) => ends[i], dtype).squeeze(0);
    const steps = { method, interval: [start, end] as const, origin: 0, found };
    const shifted = { origin: 0, f, usesTime: (norm: ErrorNorm) => usesTime(f, y0, norm) };
    const times = Float64Array.of(start, end);
    const packed = { ...state, y0 };
    const y = solvePacked(shifted, packed, times, { ...others, method, steps }, odeDefaults).y.select(0, 1);
    if (derivativeOrder() === 0) return { t, y };
    return followEvent(f, (t, y) => nearestOf(values(t, y), signs), t, y);
  };
  const field = packField(state, f);
  // A later start begins at a point that the solution left before.
  const first = move
    ? state.y0.sub(stopGradient(field(scalar(start, dtype), state.y0)).mul(move.cast(dtype)))
    : state.y0;
  const { t, y } = isCapturing()
    ? inEachCallOf(field, valuesOf, first, solve)
    : solve(field, valuesOf, first);
  return { t, y: state.unpack(y) };
}

/** Solves in each call of a function of `jit` again. */
function inEachCallOf(
  f: VectorField,
  values: VectorField,
  y0: Tensor,
  solve: (f: VectorField, values: VectorField, y0: Tensor) => { t: Tensor; y: Tensor },
): { t: Tensor; y: Tensor } {
  const time = { shape: [], dtype: y0.dtype };
  const [field, numbers] = [f, values].map((f) => new TracedFunction(f, time, y0));
  const [t, y] = inEachCall([y0, ...field.closedOver, ...numbers.closedOver], ([y0, ...rest]) => {
    const ofField = rest.splice(0, field.closedOver.length);
    const found = solve(
      (t, y) => field.callWith([t, y], ofField),
      (t, y) => numbers.callWith([t, y], rest),
      y0,
    );
    return [found.t, found.y];
  });
  return { t, y };
}

/** @throws {RangeError} If the numbers of an event at the start do not say which crossing is the first. */
function checkStart(first: Tensor, direction: string): void {
  const values = peekBeneath(first);
  if (!values) throw cannotRead(first);
  if (values.some(Number.isNaN)) {
    throw new RangeError(
      "odeintEvent: the event function is NaN at the start, expected nonzero numbers; check its result for t0 and y0",
    );
  }
  if (direction === "both" && values.includes(0)) {
    throw new RangeError(
      'odeintEvent: the event function is zero at the start; choose the direction of its next crossing, "up" or "down"',
    );
  }
}

/** The highest order of gradients of {@linkcode followEvent}: the order of the method of its step. */
const highestOrder = rk4.order;

/**
 * The time of an event and the state at this time, with gradients. By the implicit function theorem the time changes by
 * -dg / (dg/dt + dg/dy f), and the state moves along the solution. A Newton iteration does not change the values, but gradients
 * flow through it: the first iteration gives first-order gradients, and each further iteration one more order.
 *
 * @throws {Error} If the requested order of gradients is above {@linkcode highestOrder}.
 */
function followEvent(f: VectorField, event: VectorField, t: Tensor, y: Tensor): { t: Tensor; y: Tensor } {
  const orders = derivativeOrder();
  if (orders > highestOrder) {
    throw new Error(
      `odeintEvent: gradients of order ${orders} are requested, an event has gradients up to order ${highestOrder}; ` +
        "nest fewer gradients",
    );
  }
  const speed = withoutRecording(() => {
    const { value, pullback } = vjp(() => event(t, y), { t, y });
    const along = pullback(value.zerosLike().add(1));
    return along.t.add(along.y.mul(f(t, y)).sum());
  });
  let shift = t.zerosLike();
  let moved = { t, y };
  for (let order = 0; order < orders; order++) {
    const value = event(moved.t, moved.y);
    shift = shift.sub(value.sub(stopGradient(value)).div(speed));
    moved = { t: t.add(shift), y: rungeKuttaStep(rk4, f, t, shift, y) };
  }
  return moved;
}
