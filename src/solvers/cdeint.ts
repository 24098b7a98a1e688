import { checkOptions } from "../device/options.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import type { Path } from "../paths/path.ts";
import { checkFunction, checkTensor } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeFlatten, treeLeaves, treeMap } from "../tensor/tree.ts";
import {
  cdeSolveOptionNames,
  type CdeSolveOptions,
  type ControlledField,
  findStepsAlong,
  moveTimeAxis,
  solveAlong,
} from "./controlled.ts";
import type { VectorField } from "./runge_kutta.ts";
import type { AdaptiveSteps } from "./solve_options.ts";

export type { CdeSolveOptions } from "./controlled.ts";

/** The equation dz = f(t, z) dX(t), for {@linkcode solve}. */
export interface ControlledEquation<S extends Tree = Tensor> {
  /** The control, with values `(..., channels)`. */
  readonly X: Path;
  /** The vector field: `(..., hidden)` to `(..., hidden, channels)`, for each tensor of the state. */
  readonly f: VectorField<S>;
}

/**
 * Solves dz = f(t, z) dX(t), as torchcde's `cdeint`: equation (2) of Kidger et al., "Neural Controlled Differential
 * Equations for Irregular Time Series" (2020).
 *
 * Times are exact, as in {@linkcode odeint}. The control may have Unix seconds: the solver uses differences of times.
 * {@linkcode solve} with `{ X, f }` as equation saves other states: times of each sample, all steps, or a dense solution.
 *
 * @example
 * ```ts
 * import { cdeint, CubicSpline, naturalCubicCoeffs, ones, stack } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(ones([4, 10, 2]))); // 4 series of 10 observations in 2 channels
 * const start = { fast: ones([4, 3]), slow: ones([4, 5]) };
 * const { fast, slow } = cdeint(
 *   X,
 *   (_t, { fast, slow }) => ({
 *     fast: stack([fast.tanh(), fast], -1),
 *     slow: stack([slow.neg(), slow.tanh()], -1),
 *   }),
 *   start,
 *   X.interval,
 *   { method: "dopri5" },
 * );
 * console.log(fast.shape, slow.shape); // [4, 2, 3] and [4, 2, 5]
 * ```
 *
 * @param X The control, with values `(..., channels)`.
 * @param f The vector field: `(..., hidden)` to `(..., hidden, channels)`, for each tensor of the state.
 * @param z0 The state at the first time: `(..., hidden)`, or plain objects and arrays of such tensors, as in
 * {@linkcode odeint}.
 * @param t Output times in the interval of the control; `X.interval` for the first and the last state. If they are a tensor,
 * first-order gradients flow to the times, as in {@linkcode odeint} (equation 6). The control does not move with the times.
 * @param options By default the method of torchcde, `"dopri5"` with `rtol` 1e-4 and `atol` 1e-6. The default size of fixed
 * steps is the smallest gap between observations. An adaptive method ends a step at each of the `jumpTimes` of the control,
 * which are the grid points of a piecewise linear path. With `norm: "sample"`, the control is evaluated at the times of each
 * sample.
 * @returns `(..., length(t), hidden)`, for each tensor of a tree.
 * @throws {RangeError} As {@linkcode odeint}, and if a time is outside the interval of the control.
 * @throws {ShapeError | TypeError} If the shapes or types of control, state and vector field do not match.
 */
export function cdeint<S extends Tree>(
  X: Path,
  f: VectorField<S>,
  z0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): S {
  checkFunction("cdeint", "f", f);
  checkState("cdeint", "z0", z0);
  checkOptions("cdeint", options, cdeSolveOptionNames);
  const z = solveAlong(X, fieldOf(X, f, "cdeint"), z0, t, options, "cdeint");
  return treeMap(z, (z) => moveTimeAxis(z, z.rank - 2));
}

/**
 * Finds the steps of an adaptive method in advance, as {@linkcode findOdeintSteps}, for the option `steps` of
 * {@linkcode cdeint}.
 *
 * @throws {RangeError} As {@linkcode findOdeintSteps}.
 */
export function findCdeintSteps<S extends Tree>(
  X: Path,
  f: VectorField<S>,
  z0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): Promise<AdaptiveSteps> {
  checkFunction("findCdeintSteps", "f", f);
  checkState("findCdeintSteps", "z0", z0);
  checkOptions("findCdeintSteps", options, cdeSolveOptionNames);
  return findStepsAlong(X, fieldOf(X, f, "cdeint"), z0, t, options, "findCdeintSteps");
}

/** @throws {TypeError | ShapeError} If a state has no tensor, or a leaf no axis. */
export function checkState(operation: string, argument: string, z0: Tree): void {
  const leaves = treeFlatten(z0);
  if (leaves.length === 0) checkTensor(`${operation}: ${argument}`, z0);
  const scalar = leaves.find(([, { rank }]) => rank === 0);
  if (!scalar) return;
  const name = scalar[0] === "" ? argument : `${argument}.${scalar[0]}`;
  throw new ShapeError(`${operation}: ${name} has shape (), expected (..., hidden)`);
}

/** The right-hand side f(t, z) dX/dt of the equivalent ordinary differential equation. */
export function fieldOf<S extends Tree>(X: Path, f: VectorField<S>, operation: string): ControlledField<S> {
  return (control, time, z) => {
    const [{ dtype }] = treeLeaves(z);
    if (X.gridPoints.dtype !== dtype) {
      throw new TypeError(
        `${operation}: X is ${X.gridPoints.dtype}, the state ${dtype}; convert one with .cast("${X.gridPoints.dtype}")`,
      );
    }
    const slope = control.derivative();
    for (const leaf of treeLeaves(z)) checkSamples(slope, leaf, time.rank > 0, operation);
    const matrices = f(time, z);
    if (z instanceof Tensor) checkTensor(`${operation}: the result of the vector field`, matrices);
    const states = new Map(treeFlatten(z));
    return treeMap(matrices, (matrix, path) => {
      checkMatrix(matrix, states.get(path), slope, path, operation);
      return matrix.matmul(slope.expandDims(-1)).squeeze(-1);
    });
  };
}

/** @throws {ShapeError} If a vector field's result does not fit the state and the slope of the control. */
function checkMatrix(
  { shape }: Tensor,
  z: Tensor | undefined,
  slope: Tensor,
  path: string,
  operation: string,
): void {
  // A later check reports tensors that the state does not have.
  if (!z || sameShape(shape, [...z.shape, slope.shape.at(-1)!])) return;
  throw new ShapeError(
    `${operation}: the vector field returned ${formatShape(shape)}${path && ` at ${path}`} for a state of ${
      formatShape(z.shape)
    } and a control of ${formatShape(slope.shape)}; expected (..., hidden, channels)`,
  );
}

/**
 * @param ownTimes Whether each sample has its own times.
 * @throws {ShapeError} If the axes of a control before its last do not broadcast to those of the state.
 */
function checkSamples(control: Tensor, z: Tensor, ownTimes: boolean, operation: string): void {
  const [series, samples] = [control, z].map(({ shape }) => shape.slice(0, -1));
  const doesFit = (ownTimes ? series.length === samples.length : series.length <= samples.length) &&
    series.every((length, i) => length === 1 || length === samples.at(i - series.length));
  if (doesFit) return;
  throw new ShapeError(
    `${operation}: X has values of shape ${formatShape(control.shape)}, the state has ${
      formatShape(z.shape)
    }; expected the same axes ` +
      "before the last axis",
  );
}
