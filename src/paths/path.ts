import { checkOptions, type OptionNames } from "../device/options.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { isFloat } from "../device/dtype.ts";
import { checkTensor } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";

/** The side of a grid point from which a path is evaluated. */
export type Side = "left" | "right";

/**
 * A control: a function of time with values in the channels, piecewise between grid points. Any object with these members
 * is one.
 */
export interface Path {
  /** Times at which the pieces meet, increasing: `(length,)`, or `(..., length)` where each series has its own. */
  readonly gridPoints: Tensor;
  /** The first and the last time: `(2,)`, or `(..., 2)`. */
  readonly interval: Tensor;
  /**
   * {@linkcode gridPoints} as plain numbers.
   *
   * @throws {Error} Where each series has times of its own: it says how to come to a common grid.
   */
  readonly times: Float64Array;
  /**
   * Times at which the derivative jumps, where all series share them: an adaptive method ends a step at each. Left out of a
   * path whose derivative is continuous.
   */
  readonly jumpTimes?: ArrayLike<number>;
  /**
   * Whether the path up to a grid point depends on nothing that was observed after it. A model that predicts while
   * observations still arrive needs such a path.
   */
  readonly causal: boolean;
  /**
   * X(t): `(..., channels)` for one time, `(..., n, channels)` for a vector of n times, or for times `(..., n)` of which
   * each series has its own. Plain numbers are exact whatever the type of the path; a float32 tensor holds 24 bits of a time.
   */
  evaluate(t: Tensor | number | ArrayLike<number>): Tensor;
  /**
   * dX/dt at t, in the shapes of {@linkcode evaluate}.
   *
   * @param side Which derivative is meant at a grid point: `"left"`, that of the piece before it, by default.
   */
  derivative(t: Tensor | number | ArrayLike<number>, side?: "left" | "right"): Tensor;
  /**
   * The same path with times counted from an origin. Solvers ask for it where the times are too far from zero for float32,
   * as Unix seconds are; a path without it is solved at the times as they are.
   */
  since?(origin: number): Path;
}

/** Whether a value is a {@linkcode Path}: an object with its members, such as a {@linkcode CubicSpline}. */
export function isPath(value: unknown): value is Path {
  const isObject = typeof value === "object" && value !== null;
  return isObject && "times" in value && "evaluate" in value && typeof value.evaluate === "function";
}

/** Throws unless a value is a path. A tensor of observations is a common mistake. */
export function checkPath(operation: string, X: Path): void {
  if (isPath(X)) return;
  const given: unknown = X;
  const found = given instanceof Tensor ? `a tensor of shape ${formatShape(given.shape)}` : typeof given;
  throw new TypeError(
    `${operation}: expected a path, got ${found}; make one of observations: CubicSpline(naturalCubicCoeffs(x, t), t)`,
  );
}

/** Options of paths. */
export interface PathOptions {
  /**
   * See {@linkcode Path.causal}. Known for coefficients as they were returned; to be given for ones that were stored, cut
   * or stacked since.
   */
  causal?: boolean;
}

const pathOptionNames: OptionNames<PathOptions> = { causal: "optional" };

/** Refuses options that no path has. */
export function checkPathOptions(path: string, options: PathOptions | undefined): void {
  if (options !== undefined) checkOptions(path, options, pathOptionNames);
}

/**
 * Checks observations `(..., length, channels)`.
 *
 * @throws {ShapeError | TypeError} If they are none.
 */
export function checkObservations(x: Tensor, operation: string): void {
  checkTensor(`${operation}: x`, x);
  if (x.rank < 2) {
    throw new ShapeError(
      `${operation}: x has shape ${formatShape(x.shape)}, expected (..., length, channels)`,
    );
  }
  if (!isFloat(x.dtype)) {
    throw new TypeError(`${operation}: x is ${x.dtype}, expected float32 or float64; cast it first`);
  }
}

const causalCoefficients = new WeakSet<Tensor>();

/** Remembers of coefficients that a path made of them is causal. */
export function markCausal(coeffs: Tensor): Tensor {
  causalCoefficients.add(coeffs);
  return coeffs;
}

/** Whether a path of coefficients is causal, as far as is known. */
export function isCausal(coeffs: Tensor, { causal }: PathOptions): boolean {
  return causal ?? causalCoefficients.has(coeffs);
}
