import { checkFunction, checkTensor } from "../tensor/checks.ts";
import { checkOptions, type OptionNames } from "../device/options.ts";
import { scalar } from "../tensor/creation.ts";
import { stopGradient } from "../tensor/functions.ts";
import { vjp } from "../autodiff/grad.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkResolution } from "../paths/times.ts";
import { hostTimes } from "../tensor/host.ts";
import { derivativeOrder, hasValues, withoutRecording } from "../tensor/primitive.ts";
import { NoValuesError } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { findEvent } from "./adaptive/adaptive.ts";
import { isAdaptive, methodOf, withStageTolerances } from "./methods.ts";
import { checkAdaptiveOptions, checkField } from "./check_arguments.ts";
import { odeDefaults } from "./defaults.ts";
import { NoProgressError } from "./divergence.ts";
import { rk4 } from "./methods/rk4.ts";
import { solvePacked } from "./odeint.ts";
import { packField, packState } from "./packed_state.ts";
import { solveOptionNames, type SolveOptions } from "./solve_options.ts";
import { type ErrorNorm, readNumber } from "./adaptive/step_control.ts";
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
}

const eventOptionNames: OptionNames<EventOptions> = { ...solveOptionNames, reverseTime: "optional" };

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
 * @param t0 The time of `y0`.
 * @param event Returns numbers that are not zero at the start. The first sign change of any of them ends the solve. Signs are
 * compared at the ends of steps: two sign changes within one step are not seen, unless `jumpTimes` end a step between them.
 * @param options The method must be adaptive; `"dopri5"` by default.
 * @returns The time as a scalar, and the state at this time, of the structure and shapes of `y0`.
 * @throws {RangeError} If the method is not adaptive, `steps` or `norm: "sample"` is given, `t0` is infinite or NaN, the event
 * function is zero at the start, no event is found within `maxSteps` steps, or the type of the state cannot distinguish the time
 * of the event from the start.
 * @throws {ShapeError} If the event function returns an empty tensor, or `t0` is not a single time.
 * @throws {TypeError} If the event function returns bool.
 * @throws {Error} If gradients of an order above four are requested, or inside `vmap`.
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
  const { reverseTime = false, method = odeDefaults.method, ...others } = options;
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
  const state = packState(y0, "odeintEvent");
  const { dtype } = state.y0;
  if ([state.y0, t0].some((x) => x instanceof Tensor && !hasValues(x))) throw new NoValuesError(whyNoSearch);
  const starts = typeof t0 === "number" ? [t0] : hostTimes(t0, "odeintEvent: t0");
  if (starts.length !== 1) {
    throw new ShapeError(
      `odeintEvent: t0 has ${starts.length} times, expected one time at which all samples start`,
    );
  }
  const [start] = starts;
  if (!Number.isFinite(start)) {
    throw new RangeError(`odeintEvent: t0 is ${start}, expected a finite time`);
  }
  const first = withoutRecording(() => event(scalar(start, dtype), y0));
  checkTensor("odeintEvent: the result of the event function", first);
  if (!hasValues(first)) throw new NoValuesError(whyNoSearch);
  if (first.dtype === "bool") {
    throw new TypeError(
      "odeintEvent: the event function returned bool, expected numbers that cross zero; return a difference, such as " +
        "y.sub(0.5), instead of a comparison, such as y.less(0.5)",
    );
  }
  const signs = withoutRecording(() => first.sign());
  if (signs.size === 0) {
    throw new ShapeError(
      `odeintEvent: the event function returned ${formatShape(signs.shape)} for a state of ${
        formatShape(state.y0.shape)
      }, which is empty; expected at least one sample and one number`,
    );
  }
  if (withoutRecording(() => readNumber(signs.isNaN().cast(dtype).max())) === 1) {
    throw new RangeError(
      "odeintEvent: the event function is NaN at the start, expected nonzero numbers; check its result for t0 and y0",
    );
  }
  if (withoutRecording(() => readNumber(signs.abs().min())) === 0) {
    throw new RangeError(
      "odeintEvent: the event function is zero at the start; start slightly later, where its sign is known",
    );
  }
  // Positive until one of the numbers changes sign.
  const nearest = (t: Tensor, y: Tensor) => event(t, state.unpack(y)).mul(signs).min();
  const field = packField(state, f);
  const adaptive = checkAdaptiveOptions(options, state.y0, 0, odeDefaults);
  const ends: { t: number; value: number }[] = [];
  const found = explainingErrors(ends, () =>
    findEvent(
      withStageTolerances(tableau, adaptive),
      checkField(field),
      state.y0,
      start,
      reverseTime ? -1 : 1,
      adaptive,
      (t, y) => {
        const value = readNumber(nearest(scalar(t, dtype), y));
        ends.push({ t, value });
        return value;
      },
    ));
  const end = found.lists[0].ends.at(-1)!;
  checkResolution([start, end], dtype, "odeintEvent: the start and the event");
  const t = scalar(end, dtype);
  const steps = { method, interval: [start, end] as const, origin: 0, found };
  const shifted = { origin: 0, f: field, usesTime: (norm: ErrorNorm) => usesTime(field, state.y0, norm) };
  const times = Float64Array.of(start, end);
  const y = solvePacked(shifted, state, times, { ...others, method, steps }, odeDefaults).select(0, 1);
  const moved = derivativeOrder() > 0 ? followEvent(field, nearest, t, y) : { t, y };
  return { t: moved.t, y: state.unpack(moved.y) };
}

const whyNoSearch =
  "odeintEvent: the time of an event depends on values, which are not known inside vmap and in the body of a compiled loop; call " +
  "odeintEvent for each example, outside";

/**
 * Runs the search of an event. Its errors state that no event was found.
 *
 * @param ends Receives the times at which the search evaluates the event function, and the number that is positive until the event.
 */
function explainingErrors<T>(ends: readonly { t: number; value: number }[], search: () => T): T {
  try {
    return search();
  } catch (error) {
    if (error instanceof NoValuesError) throw new NoValuesError(whyNoSearch);
    if (!(error instanceof NoProgressError) || ends.length === 0) throw error;
    const closest = ends.reduce((best, end) => end.value < best.value ? end : best);
    throw new NoProgressError(
      `odeintEvent: no event was found: the event function has the same sign at the ends of all steps up to t = ${
        ends.at(-1)!.t
      }, and is closest to zero at t = ${closest.t}, by ${closest.value}; check its sign, and note that two sign changes ` +
        `within one step are not seen: jumpTimes end steps at given times. The solve stopped: ${error.message}`,
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
