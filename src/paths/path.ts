import { checkOptions, namesOf } from "../device/options.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { isFloat } from "../device/dtype.ts";
import { checkTensor } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";

/** The side of a grid point for {@linkcode Path.derivative}. */
export type Side = "left" | "right";

/**
 * A control: a function of time with values in channels, defined piecewise between grid points. Every object with these members is
 * a path.
 */
export interface Path {
  /** Times at which the pieces meet, increasing: `(length,)`, or `(..., length)` if times differ between series. */
  readonly gridPoints: Tensor;
  /** The first and the last time: `(2,)`, or `(..., 2)`. */
  readonly interval: Tensor;
  /**
   * {@linkcode gridPoints} as numbers.
   *
   * @throws {Error} If times differ between series. The message describes how to get a common grid.
   */
  readonly times: Float64Array;
  /**
   * Times at which the derivative jumps, if all series share them. Adaptive methods end a step at each of them. Undefined if the
   * derivative is continuous.
   */
  readonly jumpTimes?: ArrayLike<number>;
  /**
   * Whether the path up to a grid point is independent of later observations. Models that predict while observations arrive need a
   * causal path. False if it is not known because the observations are only on a GPU, or under `jit`.
   */
  readonly causal: boolean;
  /**
   * X(t): `(..., channels)` for one time, `(..., n, channels)` for a vector of n times or for times `(..., n)` of each series.
   * Times as numbers are exact, also for a float32 path. A float32 tensor holds 24 bits of a time.
   */
  evaluate(t: Tensor | number | ArrayLike<number>): Tensor;
  /**
   * dX/dt at t, with the shapes of {@linkcode evaluate}.
   *
   * @param side The derivative at a grid point: `"left"` (default) is that of the piece before the point.
   */
  derivative(t: Tensor | number | ArrayLike<number>, side?: "left" | "right"): Tensor;
  /**
   * The same path with times relative to an origin. Solvers call it if times are too far from zero for float32, such as Unix
   * seconds. They solve a path without this method at its original times.
   */
  since?(origin: number): Path;
}

/** Whether a value is a {@linkcode Path}, such as a {@linkcode CubicSpline}: an object with its members. */
export function isPath(value: unknown): value is Path {
  const isObject = typeof value === "object" && value !== null;
  return isObject && "times" in value && "evaluate" in value && typeof value.evaluate === "function";
}

/** Throws unless a value is a path. A tensor of observations is a common mistake. */
export function checkPath(operation: string, X: Path): void {
  if (isPath(X)) return;
  const argument: unknown = X;
  const actual = argument instanceof Tensor
    ? `a tensor of shape ${formatShape(argument.shape)}`
    : typeof argument;
  throw new TypeError(
    `${operation}: expected a path, got ${actual}; construct a path from observations: CubicSpline(naturalCubicCoeffs(x, t), t)`,
  );
}

/** Options of paths. */
export interface PathOptions {
  /**
   * Whether the path is causal, see {@linkcode Path.causal}. A path finds this out for the coefficients that `linearCoeffs` or another
   * function of coefficients returned. Set it for coefficients that were stored and loaded, sliced or stacked.
   */
  causal?: boolean;
}

const pathOptionNames = namesOf<PathOptions>()("causal?");

/** @throws {OptionError} If an option is unknown. */
export function checkPathOptions(path: string, options: PathOptions | undefined): void {
  if (options !== undefined) checkOptions(path, options, pathOptionNames);
}

/**
 * Checks observations `(..., length, channels)`.
 *
 * @throws {ShapeError | TypeError} If the shape or type is wrong.
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

/** Marks coefficients whose path is causal. */
export function markCausal(coeffs: Tensor): Tensor {
  causalCoefficients.add(coeffs);
  return coeffs;
}

/** Whether the path of coefficients is known to be causal. */
export function isCausal(coeffs: Tensor, { causal }: PathOptions): boolean {
  return causal ?? causalCoefficients.has(coeffs);
}
