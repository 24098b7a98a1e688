/** Differential equations whose right-hand side reads a control: controlled equations, and equations of fast weights. */
import { OptionError } from "../device/errors.ts";
import { namesOf } from "../device/options.ts";
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
import { findPackedSteps, normOf, type ShiftedField, solveTree } from "./odeint.ts";
import { type PackedState, packField, packState } from "./packed_state.ts";
import { type AdaptiveSteps, solveOptionNames, type SolveOptions } from "./solve_options.ts";
import { solveTimes } from "./time_gradients.ts";
import { originOf, usesTime } from "./time_origin.ts";

/** Options of a solve along a control. */
export interface CdeSolveOptions extends SolveOptions {
  /**
   * Number of equal steps of a fixed-step method across each piece of the control, instead of a step size. A step then ends at
   * every grid point, so that along a causal path no state depends on a later observation.
   */
  stepsPerPiece?: number;
}

export const cdeSolveOptionNames = namesOf<CdeSolveOptions>()(solveOptionNames, "stepsPerPiece?");

/** The control at the time of a stage. With one time per sample, axes of length 1 lie between samples and channels. */
export interface Control {
  /** X(t), `(..., channels)`. */
  evaluate(): Tensor;
  /** dX/dt, `(..., channels)`. */
  derivative(side?: "left" | "right"): Tensor;
}

/** A right-hand side that reads a control. */
export type ControlledField<S extends Tree = Tensor> = (control: Control, t: Tensor, y: S) => S;

/** Solves dy/dt = f(X, t, y). Returns `(length(t), ...y0.shape)`. `operation` is the name of the caller in messages. */
export function solveAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions,
  operation: string,
): S {
  checkPath(operation, X);
  const times = solveTimes(t, operation);
  const state = packState(y0, operation, normOf(options));
  const { field, solver } = equationAlong(X, f, state, times.host, options, operation);
  return solveTree(field, state, times, solver, cdeDefaults);
}

/** The vector field of an equation along a control, and the options of its solve. */
export function equationAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  state: PackedState<S>,
  times: Float64Array,
  options: CdeSolveOptions,
  operation: string,
): { readonly field: ShiftedField; readonly solver: SolveOptions } {
  checkPath(operation, X);
  checkTimes(X, times, operation);
  const solver = { ...options, ...controlOptions(operation, X, options) };
  return { field: fieldAlong(X, f, state, times), solver };
}

/** Moves the time axis behind the batch axes: `(length, ...batch, ...)` to `(...batch, length, ...)`. */
export function moveTimeAxis(x: Tensor, batchAxes: number): Tensor {
  const [times, ...axes] = x.shape.keys();
  return x.permute([...axes.slice(0, batchAxes), times, ...axes.slice(batchAxes)]);
}

/** Finds the steps that {@linkcode solveAlong} would take with an adaptive method. */
export async function findStepsAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions,
  operation: string,
): Promise<AdaptiveSteps> {
  checkPath(operation, X);
  const times = hostTimes(t, `${operation}: t`);
  const state = packState(y0, operation, normOf(options));
  const { field, solver } = equationAlong(X, f, state, times, options, operation);
  return await findPackedSteps(field, state, times, solver, cdeDefaults);
}

/** @throws {RangeError} If output times are not monotone, or outside the interval of the control. */
function checkTimes(X: Path, times: Float64Array, operation: string): void {
  checkOutputTimes(times, operation);
  if (X.gridPoints.rank > 1) return;
  const [begin, end] = [X.times[0], X.times[X.times.length - 1]];
  // Computed interval ends may differ by rounding.
  const slack = 1e-6 * (end - begin);
  const wrong = times.findIndex((time) => !(time >= begin - slack && time <= end + slack));
  if (wrong >= 0) {
    throw new RangeError(
      `${operation}: t[${wrong}] is ${
        times[wrong]
      }, but the control is defined from ${begin} to ${end}: choose times in ` +
        "this interval, or construct the control with the times that t refers to",
    );
  }
}

/**
 * The vector field of an equation along a control. For dz = f(z) dX it is f(z) dX/dt (Kidger et al., 2020, equation 4), whose
 * integral is equation 5.
 */
function fieldAlong<S extends Tree>(
  X: Path,
  f: ControlledField<S>,
  state: PackedState<S>,
  times: Float64Array,
): ShiftedField {
  const { y0 } = state;
  const { dtype } = y0;
  const isRounded = X.gridPoints.rank === 1 && times[0] !== 0 && lostByRounding(X.times, dtype) > 1e-3;
  const origin = X.since ? isRounded ? times[0] : originOf(times, dtype) : 0;
  const shifted = origin === 0 ? X : X.since!(origin);
  // A series that all samples share has no batch axes, or batch axes of length 1.
  let batch: readonly number[] | undefined;
  const batchOf = () =>
    batch ??= withoutRecording(() => tidy(() => shifted.evaluate(times[0] - origin)).shape.slice(0, -1));
  return {
    origin,
    f: packField(state, (t, y) => f(controlAt(shifted, batchOf, t), origin === 0 ? t : t.add(origin), y)),
    usesTime: (norm) => {
      const begin = times[0] - origin;
      const constant: Control = {
        evaluate: () => shifted.evaluate(begin),
        derivative: (side) => shifted.derivative(begin, side),
      };
      const control = ({ shape, rank }: Tensor) =>
        rank === 0 ? constant : controlAt(shifted, batchOf, full(shape, begin, { dtype }));
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
          `norm "sample": the state has ${samples} samples along its first axis, the control has series of shape ${series}; ` +
            "expected one series for each sample, along the same axes, or one series for all samples",
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

/** The options that follow from a control: its smallest gap as step size, steps in its pieces, or the times at which it jumps. */
function controlOptions(
  operation: string,
  X: Path,
  { method, steps, stepSize, grid, jumpTimes, stepsPerPiece, controller }: CdeSolveOptions,
): SolveOptions {
  const tableau = methodOf(method ?? steps?.method ?? cdeDefaults.method);
  if (stepsPerPiece !== undefined) {
    checkStepsPerPiece(operation, tableau, { method, stepSize, grid, controller });
  }
  if (isAdaptive(tableau)) {
    const hasJumpTimes = controller?.kind === "error" && controller.jumpTimes !== undefined;
    return hasJumpTimes ? {} : { jumpTimes: jumpTimes ?? X.jumpTimes };
  }
  if (grid || controller) return {};
  if (stepsPerPiece !== undefined) return { grid: subdividePieces(operation, X.times, stepsPerPiece) };
  return { stepSize: stepSize ?? smallestGap(X.times) };
}

/** @throws {OptionError} If another option determines the steps, or the method is adaptive. */
export function checkStepsPerPiece(
  operation: string,
  method: Method | undefined,
  { method: chosen, stepSize, grid, controller }: SolveOptions,
): void {
  const other = stepSize !== undefined ? "stepSize" : grid ? "grid" : controller ? "controller" : undefined;
  if (other) {
    throw new OptionError(
      "conflicting-options",
      `${operation}: stepsPerPiece and ${other} both determine the steps`,
      { option: "stepsPerPiece", fixes: ["leave one out"] },
    );
  }
  if (method && isAdaptive(method)) {
    const isDefault = chosen === undefined;
    throw new OptionError(
      "unusable-option",
      `${operation}: ${method.name}${isDefault ? ", the default method," : ""} does not use the option ` +
        "stepsPerPiece; fixed-step methods, such as rk4, use it",
      {
        option: "stepsPerPiece",
        fixes: [isDefault ? "choose a method, or leave it out" : "leave it out"],
      },
    );
  }
}

/**
 * Number of steps across pieces with an equal number of steps each.
 *
 * @param times Ends of the pieces.
 * @throws {RangeError} If `stepsPerPiece` is not a positive integer, or there are more steps than a solve may take.
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

function subdividePieces(operation: string, times: Float64Array, steps: number): number[] {
  countSteps(operation, times, steps);
  return Array.from(times).flatMap((time, i) =>
    i + 1 === times.length
      ? [time]
      : Array.from({ length: steps }, (_, j) => time + (times[i + 1] - time) * j / steps)
  );
}

/** The smallest distance between adjacent times: the step size of the papers. */
function smallestGap(times: Float64Array): number {
  return times.subarray(1).reduce((smallest, time, i) => Math.min(smallest, time - times[i]), Infinity);
}
