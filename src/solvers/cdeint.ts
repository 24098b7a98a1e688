import { formatShape, sameShape, type Shape, ShapeError } from "../device/shape.ts";
import { LinearInterpolation } from "../paths/linear.ts";
import type { Path } from "../paths/path.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { isAdaptive, methodNamed } from "./methods.ts";
import { odeint, odeintSteps } from "./odeint.ts";
import type { AdaptiveSteps, SolveOptions } from "./solve_options.ts";
import type { VectorField } from "./tableau.ts";

/** How a controlled differential equation is solved. */
export interface CdeSolveOptions extends SolveOptions {
  /**
   * In how many equal steps a method of fixed steps crosses each piece of the control, instead of a step size. Every grid
   * point then ends a step, so that along a causal path no state depends on a later observation.
   */
  stepsPerPiece?: number;
}

/**
 * Solves dz = f(t, z) dX(t), as torchcde's `cdeint`: equation (2) of Kidger et al., "Neural Controlled Differential
 * Equations for Irregular Time Series" (2020).
 *
 * @param X The control, with values `(..., channels)`.
 * @param f The vector field: `(..., hidden)` to `(..., hidden, channels)`.
 * @param z0 The state at the first time, `(..., hidden)`.
 * @param t Times at which the state is wanted; `X.interval` for the terminal one.
 * @param options Fixed steps are as long as the smallest gap between observations by default; an adaptive method stops at each
 * grid point of a path of straight pieces, where the slope jumps. With `norm: "sample"` the control is read at each sample's own
 * times.
 * @returns `(..., length(t), hidden)`.
 */
export function cdeint(
  X: Path,
  f: (t: Tensor, z: Tensor) => Tensor,
  z0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): Tensor {
  const field = fieldAlong(X, f);
  const z = odeint(field, z0, t, { ...options, ...solverOf(X, options) });
  return z.permute(
    [...z.shape.keys()].map((axis) => axis < z.rank - 2 ? axis + 1 : axis === z.rank - 2 ? 0 : axis),
  );
}

/**
 * Finds the steps of an adaptive method, for devices where that takes waiting: as {@linkcode odeintSteps}, for the option
 * `steps` of {@linkcode cdeint}.
 *
 * @throws {RangeError} As {@linkcode odeintSteps}.
 */
export function cdeintSteps(
  X: Path,
  f: (t: Tensor, z: Tensor) => Tensor,
  z0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): Promise<AdaptiveSteps> {
  const { method = "dopri5" } = options;
  return odeintSteps(fieldAlong(X, f), z0, t, { ...options, ...solverOf(X, { ...options, method }), method });
}

/** The right-hand side of the ordinary differential equation that a controlled one is. */
function fieldAlong(X: Path, f: (t: Tensor, z: Tensor) => Tensor): VectorField {
  let own: boolean | undefined;
  return (time, z) => {
    const { dtype } = X.gridPoints;
    if (dtype !== z.dtype) {
      throw new TypeError(`cdeint: X is ${dtype}, z0 ${z.dtype}; convert one with .cast("${dtype}")`);
    }
    // A path without samples of its own is the same for all.
    own ??= withoutRecording(() => X.derivative(X.gridPoints.flatten().slice(0, 0, 1)).rank > 2);
    const control = time.rank === 0
      ? X.derivative(time)
      : derivativeOfEach(X, own, time, z.shape.slice(0, -1));
    checkSamples(control, z);
    const matrix = f(time, z);
    if (!sameShape(matrix.shape, [...z.shape, control.shape.at(-1)!])) {
      throw new ShapeError(
        `cdeint: the vector field returned ${formatShape(matrix.shape)} for a state of ${
          formatShape(z.shape)
        } and a ` +
          `control of ${formatShape(control.shape)}; expected (..., hidden, channels)`,
      );
    }
    return matrix.matmul(control.expandDims(-1)).squeeze(-1);
  };
}

/** @throws {ShapeError} If a control's slope and a state are not of the same samples. */
function checkSamples(control: Tensor, z: Tensor): void {
  const [series, samples] = [control, z].map(({ shape }) => shape.slice(0, -1));
  const doesFit = series.length <= samples.length &&
    series.every((length, i) => length === 1 || length === samples.at(i - series.length));
  if (doesFit) return;
  throw new ShapeError(
    `cdeint: X has values of shape ${formatShape(control.shape)}, z0 has ${
      formatShape(z.shape)
    }; expected the same axes but ` +
      "for the last, channels of the one and hidden of the other",
  );
}

/** dX/dt at a time for each sample, `(batch, 1, ...)`: `(...batch, channels)`. */
function derivativeOfEach(X: Path, own: boolean, times: Tensor, batch: Shape): Tensor {
  const each = times.broadcastTo([...batch, 1]);
  return own ? X.derivative(each).squeeze(-2) : X.derivative(each.flatten()).reshape([...batch, -1]);
}

/** What a control suggests to a solver: steps of its smallest gap or in its pieces, or where its slope jumps. */
export function solverOf(
  X: Path,
  { method, steps, stepSize, grid, jumpTimes, stepsPerPiece }: CdeSolveOptions,
): SolveOptions {
  const name = method ?? steps?.method;
  if (name && isAdaptive(methodNamed(name))) {
    const jumps = X instanceof LinearInterpolation && X.gridPoints.rank === 1 ? X.times : undefined;
    return { jumpTimes: jumpTimes ?? jumps };
  }
  if (grid) return {};
  if (stepsPerPiece !== undefined) return { grid: piecesInSteps(X.times, stepsPerPiece) };
  return { stepSize: stepSize ?? smallestGap(X.times) };
}

function piecesInSteps(times: Float64Array, steps: number): number[] {
  if (!Number.isInteger(steps) || steps < 1) {
    throw new RangeError(`cdeint: stepsPerPiece is ${steps}, expected a whole number of at least 1`);
  }
  return Array.from(times).flatMap((time, i) =>
    i + 1 === times.length
      ? [time]
      : Array.from({ length: steps }, (_, j) => time + (times[i + 1] - time) * j / steps)
  );
}

/** The smallest distance between neighbouring times: the papers' step size. */
export function smallestGap(times: Float64Array): number {
  return times.subarray(1).reduce((smallest, time, i) => Math.min(smallest, time - times[i]), Infinity);
}
