/** Inputs of models made of series: a path through the observations, log-signatures of windows, or the observations row by row. */
import { hermiteCubicCoeffs } from "../paths/hermite_cubic.ts";
import { logsigWindows } from "../paths/logsig_windows.ts";
import { naturalCubicCoeffs } from "../paths/natural_cubic.ts";
import { forwardFill, observationalIntensity } from "../paths/observations.ts";
import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";

/**
 * Form in which a model reads a series. `"spline"`: a natural cubic spline of its channels, online a Hermite cubic one. `"windows"`:
 * log-signatures of windows of its observations. `"observations"`: its rows, one after the other.
 */
export type SeriesReading = "spline" | "windows" | "observations";

/** Series in the form that a model reads. */
interface SeriesForm {
  /** From observations `(batch, length, channels)` at 0, 1, ..., of which channel 0 is the time and NaN is missing. */
  read(x: Tensor): Tensor;
  /** Number of grid points of a series with so many observations. */
  gridPoints(observations: number): number;
}

/** Choices about the form. */
interface SeriesFormOptions {
  /** Number of observations from one window to the next, 4 by default. */
  window?: number;
  /** Depth of the log-signatures, from 1 to 4, 2 by default. */
  signatureDepth?: number;
  /** Whether nothing of the form depends on later observations. */
  online?: boolean;
  /** Number of channels, the last ones, that tell how others were observed, 0 by default. */
  marks?: number;
}

/**
 * The form in which a model reads series.
 *
 * @throws {RangeError} For windows that are to be read online.
 */
export function seriesForm(
  reading: SeriesReading,
  { window = 4, signatureDepth = 2, online = false, marks = 0 }: SeriesFormOptions = {},
): SeriesForm {
  if (reading === "windows") {
    if (online) {
      throw new RangeError("the end of a window is not known online: choose a model that reads none");
    }
    return {
      read: (x) => logsigWindows(x, signatureDepth, Math.min(window, x.shape[1] - 1)),
      gridPoints: (observations) => Math.max(2, Math.ceil((observations - 1) / window) + 1),
    };
  }
  const gridPoints = (observations: number) => observations;
  if (reading === "observations") return { read: (x) => observationRows(x, marks), gridPoints };
  return { read: online ? (x) => hermiteCubicCoeffs(held(x)) : (x) => naturalCubicCoeffs(x), gridPoints };
}

/** Each missing value as the one before, or, before the first, zero, the mean: nothing looks ahead. */
function held(x: Tensor): Tensor {
  const filled = forwardFill(x);
  return filled.isNaN().where(0, filled);
}

/** Rows of series as models of observations read them: each `(batch, length, ...)`. */
export interface ObservationRows {
  /** Time and values, of which a missing one is the one before, or zero before the first: `(batch, length, channels)`. */
  readonly values: Tensor;
  /** Time since the row before, 0 at the first: `(batch, length)`. */
  readonly gaps: Tensor;
  /** Time since the row before in which anything was observed, since the first row where there is none: `(batch, length, 1)`. */
  readonly since: Tensor;
  /** Whether anything was observed in a row, bool `(batch, length)`. */
  readonly observed: Tensor;
}

/** Rows of observations as one tensor `(batch, length, channels + 3)`; {@linkcode openRows} takes them apart. */
function observationRows(x: Tensor, marks: number): Tensor {
  const time = x.slice(-1, 0, 1);
  const previous = (times: Tensor) => concatenate([time.slice(1, 0, 1), times.slice(1, 0, -1)], 1);
  const observed = observationalIntensity(x.slice(-1, 1, x.shape.at(-1)! - marks), {
    per: "row",
    cumulative: false,
  });
  const last = forwardFill(observed.greater(0).where(time, NaN));
  const seen = last.isNaN().where(time.slice(1, 0, 1), last);
  return concatenate([held(x), time.sub(previous(time)), time.sub(previous(seen)), observed], -1);
}

/** Rows of observations from their one tensor. */
export function openRows(rows: Tensor): ObservationRows {
  const channels = rows.shape.at(-1)! - 3;
  return {
    values: rows.slice(-1, 0, channels),
    gaps: rows.at(-1, channels),
    since: rows.slice(-1, channels + 1, channels + 2),
    observed: rows.at(-1, channels + 2).greater(0),
  };
}
