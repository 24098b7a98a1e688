/**
 * Inputs of models made from series: a path through the observations, log-signatures of windows, or rows of
 * observations.
 */
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { hermiteCubicCoeffs } from "../../paths/hermite_cubic.ts";
import { logsigWindows } from "../../paths/logsig_windows.ts";
import { naturalCubicCoeffs } from "../../paths/natural_cubic.ts";
import { forwardFill, observationalIntensity } from "../../paths/observations.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Rows of a window of a short series. */
export const defaultWindow = 4;

/**
 * Form in which a model reads a series. `"spline"`: a natural cubic spline of its channels, or a Hermite
 * cubic spline if online. `"windows"`: log-signatures of windows of its observations. `"observations"`: its
 * rows, one after the other.
 */
export type SeriesReading = "spline" | "windows" | "observations";

/** Conversion of series to the form that a model reads. */
interface SeriesForm {
  /**
   * Converts observations `(batch, length, channels)` at 0, 1, .... Channel 0 is the time; NaN is missing.
   */
  read(x: Tensor): Tensor;
  /** Number of numbers in the form of a series. @param channels Number of channels, including the time. */
  numbers(observations: number, channels: number): number;
  /** Number of grid points of a series with a number of observations. */
  gridPoints(observations: number): number;
}

/** Options of the form. */
interface SeriesFormOptions {
  /** Number of observations from one window to the next, 4 by default. */
  window?: number;
  /** Depth of the log-signatures, from 1 to 4, 2 by default. */
  signatureDepth?: number;
  /** Whether the form must not depend on later observations. */
  online?: boolean;
  /**
   * How a missing value is filled for models that read observations: with the previous value (default), or, as
   * Kidger et al., 2020, appendix D.3, with the natural cubic spline of the channel.
   */
  fill?: "hold" | "spline";
  /** Number of intensity channels, which are the last channels; 0 by default. */
  marks?: number;
}

/**
 * Makes the conversion of series to the form that a model reads.
 *
 * @throws {RangeError} If windows are to be read online.
 */
export function seriesForm(
  reading: SeriesReading,
  { window = defaultWindow, signatureDepth = 2, online = false, fill = "hold", marks = 0 }:
    SeriesFormOptions = {},
): SeriesForm {
  if (reading === "windows") {
    const windowPoints = (observations: number) => Math.max(2, Math.ceil((observations - 1) / window) + 1);
    if (online) {
      throw new RangeError(
        "a model that reads windows cannot predict online, because the end of a window is not known in advance; " +
          "choose a model that reads observations",
      );
    }
    return {
      read: (x) => logsigWindows(x, signatureDepth, Math.min(window, x.shape[1] - 1)),
      gridPoints: windowPoints,
      numbers: (observations, channels) =>
        windowPoints(observations) * logsignatureChannels(channels, signatureDepth),
    };
  }
  const gridPoints = (observations: number) => observations;
  if (reading === "observations") {
    return {
      read: (x) => observationRows(x, marks, fill === "hold" ? held : splined),
      gridPoints,
      numbers: (observations, channels) => observations * (channels + 3),
    };
  }
  return {
    read: online ? (x) => hermiteCubicCoeffs(held(x)) : (x) => naturalCubicCoeffs(x),
    gridPoints,
    // Four coefficients for each piece and channel.
    numbers: (observations, channels) => 4 * observations * channels,
  };
}

/**
 * Replaces each missing value by the previous one, or by zero (the mean) before the first. Never looks ahead.
 */
function held(x: Tensor): Tensor {
  const filled = forwardFill(x);
  return filled.isNaN().where(0, filled);
}

/** Replaces each missing value by the value of the natural cubic spline through its channel. */
function splined(x: Tensor): Tensor {
  const spline = CubicSpline(naturalCubicCoeffs(x));
  return spline.evaluate(Array.from({ length: x.shape[1] }, (_, t) => t));
}

/** Rows of series for models that read observations. Each tensor is `(batch, length, ...)`. */
export interface ObservationRows {
  /**
   * Time and values `(batch, length, channels)`. A missing value is the previous one, or zero before the
   * first, or that of the natural cubic spline.
   */
  readonly values: Tensor;
  /** Time since the previous row, 0 for the first row: `(batch, length)`. */
  readonly gaps: Tensor;
  /** Time since the last row with an observation, or else since the first row: `(batch, length, 1)`. */
  readonly since: Tensor;
  /** Whether a row has an observation, bool `(batch, length)`. */
  readonly observed: Tensor;
}

/**
 * Packs rows of observations into one tensor `(batch, length, channels + 3)`; {@linkcode openRows} unpacks
 * them.
 */
function observationRows(x: Tensor, marks: number, fill: (x: Tensor) => Tensor): Tensor {
  const time = x.slice(-1, 0, 1);
  const previous = (times: Tensor) => concatenate([time.slice(1, 0, 1), times.slice(1, 0, -1)], 1);
  const observed = observationalIntensity(x.slice(-1, 1, x.shape.at(-1)! - marks), {
    per: "row",
    cumulative: false,
  });
  const last = forwardFill(observed.greater(0).where(time, NaN));
  const seen = last.isNaN().where(time.slice(1, 0, 1), last);
  return concatenate([fill(x), time.sub(previous(time)), time.sub(previous(seen)), observed], -1);
}

/** Unpacks rows of observations from one tensor. */
export function openRows(rows: Tensor): ObservationRows {
  const channels = rows.shape.at(-1)! - 3;
  return {
    values: rows.slice(-1, 0, channels),
    gaps: rows.select(-1, channels),
    since: rows.slice(-1, channels + 1, channels + 2),
    observed: rows.select(-1, channels + 2).greater(0),
  };
}
