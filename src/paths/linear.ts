import { displaySymbol, type MimeBundle } from "../charts/display_symbol.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { refuseShape, ShapeError } from "../device/shape.ts";
import { checkTensor } from "../tensor/checks.ts";
import { concatenate, stack } from "../tensor/functions.ts";
import { tidy } from "../tensor/scope.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { mapSeries } from "./blocks.ts";
import { fromColumns, toColumns } from "./columns.ts";
import { fillLinearly, hasMissing } from "./knots.ts";
import { type Grid, locate, makeGrid, sharedTimes, timesSince } from "./piece_grid.ts";
import {
  checkObservations,
  checkPathOptions,
  isCausal,
  markCausal,
  type Path,
  type PathOptions,
  type Side,
} from "./path.ts";
import { durationsOf, gapsOf, readTimeline, type Timeline, type Times } from "./times.ts";
import { forwardFill } from "./observations.ts";

/** Options of {@linkcode linearCoeffs}. */
export interface LinearCoeffsOptions {
  /**
   * The channel that contains the time. The path then alternates: first the time advances at constant values, then the values
   * change at constant time. This rectilinear interpolation uses no later observation, unless a channel starts with missing values.
   */
  rectilinear?: number;
}

const coeffsOptionNames = namesOf<LinearCoeffsOptions>()("rectilinear?");

/**
 * Coefficients of linear interpolation: the observations, with missing values (NaN) of each channel interpolated linearly. A
 * channel is constant before its first and after its last observation, and zero without observations. Same as torchcde's
 * `linear_interpolation_coeffs`.
 *
 * With `rectilinear`, missing values are replaced by the last observation, and the path is causal (Morrill et al., "Neural
 * Controlled Differential Equations for Online Prediction Tasks", 2021, section 3). Missing values at the start are filled
 * backwards, which is not causal: for online prediction give each channel a first value, such as its mean.
 *
 * @example
 * ```ts
 * import { addTime, linearCoeffs, LinearInterpolation, tensor } from "@weft/weft";
 *
 * const x = addTime(tensor([[1, 5], [NaN, 6], [3, 7]])); // time is channel 0
 * const X = LinearInterpolation(linearCoeffs(x, undefined, { rectilinear: 0 }));
 * console.log(X.causal, X.gridPoints.shape); // true (5,)
 * ```
 *
 * @param x `(..., length, channels)`.
 * @param t Increasing times: `(length,)`, or a row per series `(..., length)`; 0, 1, ... by default. With `rectilinear`, the
 * 2 length - 1 times of the result.
 * @returns `(..., length, channels)`, or `(..., 2 length - 1, channels)` with `rectilinear`.
 * @throws {ShapeError | RangeError} If there are fewer than two observations, times have a wrong shape or do not increase, or
 * `rectilinear` is not a channel, or a channel with missing times.
 */
export function linearCoeffs(x: Tensor, t?: Times, options: LinearCoeffsOptions = {}): Tensor {
  checkObservations(x, "linearCoeffs");
  checkOptions("linearCoeffs", options, coeffsOptionNames);
  const { rectilinear } = options;
  const missing = hasMissing(x, "linearCoeffs");
  if (rectilinear === undefined) {
    const timeline = readTimeline(t, x.shape.slice(0, -1), "linearCoeffs");
    return linearValues(x, timeline, missing ?? true);
  }
  const corners = tidy(() => rectilinearCorners(x, rectilinear));
  const timeline = readTimeline(t, corners.shape.slice(0, -1), "linearCoeffs");
  const missingFirst = missing && hasMissing(x.slice(-2, 0, 1), "linearCoeffs");
  const coeffs = linearValues(corners, timeline, missingFirst ?? true);
  return missingFirst === false ? markCausal(coeffs) : coeffs;
}

/** Observations with missing values interpolated linearly. */
export function linearValues(x: Tensor, timeline: Timeline, missing: boolean): Tensor {
  if (!missing) return x;
  return mapSeries(x, {
    fit: (block, first) => [
      fromColumns(fillLinearly(toColumns(block), durationsOf(timeline, block, first)), block.shape),
    ],
    result: x.shape.slice(-2),
  });
}

/**
 * Corners of the rectilinear path, `(..., 2 length - 1, channels)`, with missing values filled forward. Between two observations,
 * the time advances first, then the values change.
 */
function rectilinearCorners(x: Tensor, channel: number): Tensor {
  const [length, channels] = x.shape.slice(-2);
  if (!Number.isInteger(channel) || channel < 0 || channel >= channels) {
    throw new RangeError(
      `linearCoeffs: rectilinear is ${channel}, expected the channel of the time, 0 to ${channels - 1}`,
    );
  }
  if (length < 2) {
    throw new ShapeError(`linearCoeffs: a path needs two observations at least, got ${length}`);
  }
  if (hasMissing(x.slice(-1, channel, channel + 1), "linearCoeffs")) {
    throw new RangeError(
      `linearCoeffs: channel ${channel} contains the time (rectilinear) but has missing values; if series are padded ` +
        "with NaN, fill their time forward: forwardFill(x)",
    );
  }
  const filled = forwardFill(x);
  const isTime = tensor(Array.from({ length: channels }, (_, i) => i === channel));
  const halfway = isTime.where(filled.slice(-2, 1), filled.slice(-2, 0, -1));
  const pairs = stack([halfway, filled.slice(-2, 1)], -2); // (..., length - 1, 2, channels)
  const flat = pairs.reshape([...x.shape.slice(0, -2), 2 * (length - 1), channels]);
  return concatenate([filled.slice(-2, 0, 1), flat], x.rank - 2);
}

/**
 * A piecewise linear path, as in torchcde. A solve with fixed steps has first order with any method: the first stage of a step at
 * a corner uses the slope of the previous piece. Adaptive methods end a step at each corner and reach their tolerances.
 */
export interface LinearInterpolation extends Path {
  /** Every grid point, if all series share them. */
  readonly jumpTimes?: Float64Array;
  /** The same curve on the grid 0, 1, ..., length - 1: see `CubicSpline.reparametrize`. */
  reparametrize(): LinearInterpolation;
  /** The same path with times relative to an origin. */
  since(origin: number): LinearInterpolation;
}

class LinearPieces implements LinearInterpolation {
  readonly causal: boolean;
  readonly #grid: Grid;
  readonly #coeffs: Tensor;
  readonly #slopes: Tensor;

  constructor(coeffs: Tensor, t?: Times, options: PathOptions = {}) {
    checkTensor("LinearInterpolation: coefficients", coeffs);
    if (coeffs.rank < 2) {
      refuseShape("LinearInterpolation: coefficients", coeffs.shape, "(..., length, channels)");
    }
    const timeline = readTimeline(t, coeffs.shape.slice(0, -1), "LinearInterpolation");
    this.#coeffs = coeffs;
    this.#slopes = coeffs.slice(-2, 1).sub(coeffs.slice(-2, 0, -1)).mul(
      gapsOf(timeline, coeffs.dtype).pow(-1),
    );
    this.#grid = makeGrid(timeline, coeffs.dtype);
    this.causal = isCausal(coeffs, options);
  }

  get gridPoints(): Tensor {
    return this.#grid.gridPoints;
  }

  get interval(): Tensor {
    return this.#grid.interval;
  }

  get times(): Float64Array {
    return sharedTimes(this.#grid);
  }

  get jumpTimes(): Float64Array | undefined {
    return "shared" in this.#grid.timeline ? this.#grid.timeline.shared : undefined;
  }

  evaluate(t: Tensor | number | ArrayLike<number>): Tensor {
    const { pick, elapsed } = this.#locate(t, "left");
    return pick(this.#slopes).mul(elapsed).add(pick(this.#coeffs.slice(-2, 0, -1)));
  }

  derivative(t: Tensor | number | ArrayLike<number>, side: Side = "left"): Tensor {
    return this.#locate(t, side).pick(this.#slopes);
  }

  reparametrize(): LinearInterpolation {
    return new LinearPieces(this.#coeffs, undefined, this);
  }

  since(origin: number): LinearInterpolation {
    return new LinearPieces(this.#coeffs, timesSince(this.#grid, origin), this);
  }

  async [displaySymbol](): Promise<MimeBundle> {
    const { displayPath } = await import("./display_path.ts");
    return await displayPath(this);
  }

  #locate(t: Tensor | number | ArrayLike<number>, side: Side) {
    return locate(this.#grid, t, this.#coeffs.shape.slice(0, -2), side);
  }
}

/**
 * Makes a path of coefficients.
 *
 * @param coeffs `(..., length, channels)`, from {@linkcode linearCoeffs}.
 * @param t Times: `(length,)`, or a row per series `(..., length)`; 0, 1, ... by default.
 * @throws {ShapeError | RangeError} If times have a wrong shape or do not increase.
 */
export function LinearInterpolation(coeffs: Tensor, t?: Times, options?: PathOptions): LinearInterpolation {
  checkPathOptions("LinearInterpolation", options);
  return new LinearPieces(coeffs, t, options);
}
