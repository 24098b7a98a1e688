import { checkOptions } from "../device/options.ts";
import { cdeSolveOptionNames } from "./option_names.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import type { Path } from "../paths/path.ts";
import { checkFunction, checkTensor } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  type CdeSolveOptions,
  type ControlledField,
  findStepsAlong,
  solveAlong,
  timesBehind,
} from "./controlled.ts";
import type { AdaptiveSteps } from "./solve_options.ts";

export type { CdeSolveOptions } from "./controlled.ts";

/**
 * Solves dz = f(t, z) dX(t), as torchcde's `cdeint`: equation (2) of Kidger et al., "Neural Controlled Differential
 * Equations for Irregular Time Series" (2020).
 *
 * Times are exact, as those of {@linkcode odeint}: the control may have Unix seconds, of which the solve is given differences.
 *
 * @param X The control, with values `(..., channels)`.
 * @param f The vector field: `(..., hidden)` to `(..., hidden, channels)`.
 * @param z0 The state at the first time, `(..., hidden)`.
 * @param t Times at which the state is wanted, in the interval of the control; `X.interval` for the terminal one.
 * @param options Without a method the solve is torchcde's: `"dopri5"` with `rtol` 1e-4 and `atol` 1e-6. Fixed steps are as long as
 * the smallest gap between observations by default; an adaptive method stops at each of the control's `jumpTimes`, as are the grid points of a path of straight pieces. With `norm: "sample"` the control is read
 * at each sample's own times.
 * @returns `(..., length(t), hidden)`.
 * @throws {RangeError} As {@linkcode odeint}; if a time is beyond the control's interval.
 * @throws {ShapeError | TypeError} If control, state and vector field do not fit.
 */
export function cdeint(
  X: Path,
  f: (t: Tensor, z: Tensor) => Tensor,
  z0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): Tensor {
  checkFunction("cdeint", "f", f);
  checkTensor("cdeint: z0", z0);
  checkOptions("cdeint", options, cdeSolveOptionNames);
  const z = solveAlong(X, fieldOf(X, f), z0, t, options, "cdeint");
  return timesBehind(z, z.rank - 2);
}

/**
 * Finds the steps of an adaptive method, for devices where that takes waiting: as {@linkcode findOdeintSteps}, for the option
 * `steps` of {@linkcode cdeint}.
 *
 * @throws {RangeError} As {@linkcode findOdeintSteps}.
 */
export function findCdeintSteps(
  X: Path,
  f: (t: Tensor, z: Tensor) => Tensor,
  z0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): Promise<AdaptiveSteps> {
  checkFunction("findCdeintSteps", "f", f);
  checkTensor("findCdeintSteps: z0", z0);
  checkOptions("findCdeintSteps", options, cdeSolveOptionNames);
  return findStepsAlong(X, fieldOf(X, f), z0, t, options, "findCdeintSteps");
}

/** The right-hand side of the ordinary differential equation that a controlled one is. */
function fieldOf(X: Path, f: (t: Tensor, z: Tensor) => Tensor): ControlledField {
  return (control, time, z) => {
    const { dtype } = X.gridPoints;
    if (dtype !== z.dtype) {
      throw new TypeError(`cdeint: X is ${dtype}, z0 ${z.dtype}; convert one with .cast("${dtype}")`);
    }
    const slope = control.derivative();
    checkSamples(slope, z, time.rank > 0);
    const matrix = f(time, z);
    checkTensor("cdeint: what the vector field returned", matrix);
    if (!sameShape(matrix.shape, [...z.shape, slope.shape.at(-1)!])) {
      throw new ShapeError(
        `cdeint: the vector field returned ${formatShape(matrix.shape)} for a state of ${
          formatShape(z.shape)
        } and a ` +
          `control of ${formatShape(slope.shape)}; expected (..., hidden, channels)`,
      );
    }
    return matrix.matmul(slope.expandDims(-1)).squeeze(-1);
  };
}

/** @throws {ShapeError} If a control's slope and a state are not of the same samples. */
function checkSamples(control: Tensor, z: Tensor, ownTimes: boolean): void {
  const [series, samples] = [control, z].map(({ shape }) => shape.slice(0, -1));
  const doesFit = (ownTimes ? series.length === samples.length : series.length <= samples.length) &&
    series.every((length, i) => length === 1 || length === samples.at(i - series.length));
  if (doesFit) return;
  throw new ShapeError(
    `cdeint: X has values of shape ${formatShape(control.shape)}, z0 has ${
      formatShape(z.shape)
    }; expected the same axes but ` +
      "for the last, channels of the one and hidden of the other",
  );
}
