/** Differential equations whose right-hand side reads a control: what controlled equations and fast weights have in common. */
import { OptionError } from "../device/errors.ts";
import type { OptionNames } from "../device/options.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkPath, type Path } from "../paths/path.ts";
import { lostByRounding } from "../paths/times.ts";
import { full } from "../tensor/creation.ts";
import { hostTimes } from "../tensor/host.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { cdeDefaults } from "./defaults.ts";
import { checkOutputTimes, checkStepCount } from "./fixed/step_times.ts";
import { isAdaptive, type Method, methodOf } from "./methods.ts";
import { type FieldSince, findStepsSince, normOf, solveSince } from "./odeint.ts";
import { type PackedState, packField, packState } from "./packed_state.ts";
import { type AdaptiveSteps, solveOptionNames, type SolveOptions } from "./solve_options.ts";
import { originOf, usesTime } from "./time_origin.ts";

/** Options of a solve along a control. */
export interface CdeSolveOptions extends SolveOptions {
  /**
   * Number of equal steps in which a method of fixed steps crosses each piece of the control, instead of a step size. Every grid
   * point then ends a step, so that along a causal path no state depends on a later observation.
   */
  stepsPerPiece?: number;
}

export const cdeSolveOptionNames: OptionNames<CdeSolveOptions> = {
  ...solveOptionNames,
  stepsPerPiece: "optional",
};

/** A control at the time of a stage; for a time of each sample, with axes of one between the samples' and the channels. */
export interface Control {
  /** X(t), `(..., channels)`. */
  evaluate(): Tensor;
  /** dX/dt, `(..., channels)`. */
  derivative(side?: "left" | "right"): Tensor;
}

/** A right-hand side that reads a control. */
export type ControlledField<S extends Tree = Tensor> = (control: Control, t: Tensor, y: S) => S;

/** Solves dy/dt = f(X, t, y): `(length(t), ...y0.shape)`. `operation` is its name in messages. */
export function solveAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions,
  operation: string,
): S {
  const times = readTimes(X, t, operation);
  const state = packState(y0, operation, normOf(options));
  return solveSince(fieldAlong(X, f, state, times), state, times, {
    ...options,
    ...solverOf(operation, X, options),
  }, cdeDefaults);
}

/** `(length, ...batch, ...)` to `(...batch, length, ...)`, with so many axes of the batch. */
export function timesBehind(x: Tensor, batchAxes: number): Tensor {
  const [times, ...axes] = x.shape.keys();
  return x.permute([...axes.slice(0, batchAxes), times, ...axes.slice(batchAxes)]);
}

/** The steps of such a solve, by an adaptive method. */
export async function findStepsAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions,
  operation: string,
): Promise<AdaptiveSteps> {
  const times = readTimes(X, t, operation);
  const state = packState(y0, operation, normOf(options));
  const field = fieldAlong(X, f, state, times);
  const solver = { ...options, ...solverOf(operation, X, options) };
  return await findStepsSince(field, state.y0, times, solver, cdeDefaults);
}

/**
 * Output times.
 *
 * @throws {TypeError} If the control is no path.
 * @throws {RangeError} If they are in disorder, or beyond the control's.
 */
function readTimes(X: Path, t: Tensor | ArrayLike<number>, operation: string): Float64Array {
  checkPath(operation, X);
  const times = hostTimes(t, `${operation}: t`);
  checkOutputTimes(times, operation);
  if (X.gridPoints.rank > 1) return times;
  const [begin, end] = [X.times[0], X.times[X.times.length - 1]];
  // Ends that were computed differ by rounding.
  const slack = 1e-6 * (end - begin);
  const wrong = times.findIndex((time) => !(time >= begin - slack && time <= end + slack));
  if (wrong >= 0) {
    throw new RangeError(
      `${operation}: t[${wrong}] is ${
        times[wrong]
      }, but the control is known from ${begin} to ${end} only: ask for times of ` +
        "its interval, or give it the times that t is meant in",
    );
  }
  return times;
}

/**
 * The vector field of an equation along a control: for dz = f(z) dX it is f(z) dX/ds, equation 4 of Kidger et al., 2020, which
 * equation 5 integrates.
 */
function fieldAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  state: PackedState<S>,
  times: Float64Array,
): FieldSince {
  const { y0 } = state;
  const { dtype } = y0;
  const isRounded = X.gridPoints.rank === 1 && times[0] !== 0 && lostByRounding(X.times, dtype) > 1e-3;
  const origin = X.since ? isRounded ? times[0] : originOf(times, dtype) : 0;
  const own = origin === 0 ? X : X.since!(origin);
  // One series for all samples has no axes of its own, or axes of one.
  let batch: readonly number[] | undefined;
  const batchOf = () =>
    batch ??= withoutRecording(() => tidy(() => own.evaluate(times[0] - origin)).shape.slice(0, -1));
  return {
    origin,
    f: packField(state, (t, y) => f(controlAt(own, batchOf, t), origin === 0 ? t : t.add(origin), y)),
    usesTime: (norm) => {
      const begin = times[0] - origin;
      const constant: Control = {
        evaluate: () => own.evaluate(begin),
        derivative: (side) => own.derivative(begin, side),
      };
      const control = ({ shape, rank }: Tensor) =>
        rank === 0 ? constant : controlAt(own, batchOf, full(shape, begin, { dtype }));
      return usesTime(packField(state, (t, y) => f(control(t), t, y)), y0, norm);
    },
  };
}

function controlAt(X: Path, batchOf: () => readonly number[], t: Tensor): Control {
  if (t.rank === 0) return { evaluate: () => X.evaluate(t), derivative: (side) => X.derivative(t, side) };
  const inner = Array(t.rank - 1).fill(1);
  const read = (look: (t: Tensor) => Tensor) => {
    const batch = batchOf();
    const samples = t.shape[0];
    if (batch[0] !== samples) {
      if (batch.some((length) => length > 1)) {
        const series = formatShape(batch);
        throw new ShapeError(
          `norm "sample": the state has ${samples} samples along its first axis, the control series of ${series}; ` +
            "give it a series for each sample, in the same axes, or one for all",
        );
      }
      const rows = look(t.flatten());
      return rows.reshape([samples, ...inner.slice(1), rows.shape.at(-1)!]);
    }
    const each = t.reshape([samples, ...batch.map(() => 1)]).broadcastTo([...batch, 1]);
    return look(each).squeeze(-2);
  };
  return {
    evaluate: () => read((t) => X.evaluate(t)),
    derivative: (side) => read((t) => X.derivative(t, side)),
  };
}

/** The options that follow from a control: steps of its smallest gap or in its pieces, or the times at which its slope jumps. */
function solverOf(
  operation: string,
  X: Path,
  { method, steps, stepSize, grid, jumpTimes, stepsPerPiece }: CdeSolveOptions,
): SolveOptions {
  const own = methodOf(method ?? steps?.method ?? cdeDefaults.method);
  if (stepsPerPiece !== undefined) checkStepsPerPiece(operation, own, { method, stepSize, grid });
  if (isAdaptive(own)) return { jumpTimes: jumpTimes ?? X.jumpTimes };
  if (grid) return {};
  if (stepsPerPiece !== undefined) return { grid: piecesInSteps(operation, X.times, stepsPerPiece) };
  return { stepSize: stepSize ?? smallestGap(X.times) };
}

/** @throws {OptionError} If another option says where steps end, or the method has no fixed steps. */
export function checkStepsPerPiece(
  operation: string,
  method: Method | undefined,
  { method: chosen, stepSize, grid }: SolveOptions,
): void {
  const other = stepSize !== undefined ? "stepSize" : grid ? "grid" : undefined;
  if (other) {
    throw new OptionError(
      "conflicting-options",
      `${operation}: stepsPerPiece and ${other} both say where steps end`,
      { option: "stepsPerPiece", fixes: ["leave one out"] },
    );
  }
  if (method && isAdaptive(method)) {
    const isDefault = chosen === undefined;
    throw new OptionError(
      "unusable-option",
      `${operation}: ${method.name}${isDefault ? ", the default method," : ""} has no use for the option ` +
        "stepsPerPiece: methods of fixed steps, rk4 say, have",
      {
        option: "stepsPerPiece",
        fixes: [isDefault ? "choose a method, or leave it out" : "leave it out"],
      },
    );
  }
}

/**
 * Number of steps across pieces, each in as many.
 *
 * @param times Ends of the pieces.
 * @throws {RangeError} If it is no whole number above zero, or the steps are more than a solve may take.
 */
export function countSteps(operation: string, times: ArrayLike<number>, stepsPerPiece: number): number {
  if (!Number.isInteger(stepsPerPiece) || stepsPerPiece < 1) {
    throw new RangeError(
      `${operation}: stepsPerPiece is ${stepsPerPiece}, expected a whole number of at least 1`,
    );
  }
  const steps = (times.length - 1) * stepsPerPiece;
  checkStepCount(steps, `${operation}: stepsPerPiece ${stepsPerPiece}`, times[0], times[times.length - 1]);
  return steps;
}

function piecesInSteps(operation: string, times: Float64Array, steps: number): number[] {
  countSteps(operation, times, steps);
  return Array.from(times).flatMap((time, i) =>
    i + 1 === times.length
      ? [time]
      : Array.from({ length: steps }, (_, j) => time + (times[i + 1] - time) * j / steps)
  );
}

/** The smallest distance between neighbouring times: the papers' step size. */
function smallestGap(times: Float64Array): number {
  return times.subarray(1).reduce((smallest, time, i) => Math.min(smallest, time - times[i]), Infinity);
}
