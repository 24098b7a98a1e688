import { describe } from "../device/describe.ts";
import { largest } from "../device/min_max.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { hasMissing } from "./knots.ts";
import { linearValues } from "./linear.ts";
import { checkObservations } from "./path.ts";
import { readTimeline, type Times } from "./times.ts";
import { checkDepth, logsignature } from "./signature.ts";

/** Maximum number of windows of a series. */
const maxWindows = 2 ** 20;

/**
 * The log-signatures of a path over windows of time, as values of a piecewise linear path with these increments: the control of a
 * neural rough differential equation. `cdeint` along it takes log-ODE steps. (Morrill et al., "Neural Rough Differential
 * Equations for Long Time Series", 2021, section 3.) Same as torchcde's `logsig_windows`.
 *
 * If a window ends between two observations, an observation is interpolated there. Missing observations are interpolated linearly.
 * The last window ends with the series.
 *
 * @example
 * ```ts
 * import { key, LinearInterpolation, logsigWindows, normal } from "@weft/weft";
 *
 * const x = normal(key(0), [8, 1001, 3]);
 * const X = LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * console.log(X.interval, X.derivative(0.5).shape); // [0, 20], (8, 6)
 * ```
 *
 * @param x Observations, `(..., length, channels)`; NaN is missing.
 * @param depth Depth of the log-signatures, 1 to 4.
 * @param windowLength The duration of a window, in units of time.
 * @param t Increasing times, `(length,)`; 0, 1, ... by default.
 * @returns `(..., windows + 1, words)`, at the times 0, 1, ..., windows. The first row starts with the first observation.
 * @throws {ShapeError | RangeError} If times or depth are invalid, or the window is not positive, longer than the series, or
 * too short: more than 2^20 windows.
 */
export function logsigWindows(x: Tensor, depth: number, windowLength: number, t?: Times): Tensor {
  checkObservations(x, "logsigWindows");
  checkDepth(depth, "logsigWindows");
  const timeline = readTimeline(t, x.shape.slice(0, -1), "logsigWindows");
  if ("rows" in timeline) {
    throw new RangeError("logsigWindows: t must be a vector, because all series share their windows");
  }
  // Subtract the first time, so that the tolerance at borders does not depend on the distance of times from zero.
  const times = timeline.shared.map((time) => time - timeline.shared[0]);
  const duration = times[times.length - 1];
  if (!(typeof windowLength === "number" && windowLength > 0)) {
    throw new RangeError(
      `logsigWindows: windowLength is ${describe(windowLength)}, expected a positive duration`,
    );
  }
  if (windowLength > duration) {
    throw new RangeError(
      `logsigWindows: windowLength is ${windowLength}, longer than the series, which lasts ${duration}`,
    );
  }
  if (duration / windowLength > maxWindows) {
    throw new RangeError(
      `logsigWindows: windowLength ${windowLength} divides a duration of ${duration} into ${
        (duration / windowLength).toPrecision(3)
      } windows, expected at most ${maxWindows}: choose longer windows`,
    );
  }
  const { rows, rowTimes, borders } = divide(times, windowLength);
  const all = rows.length === times.length ? x : x.take(tensor(rows, { dtype: "int32" }), -2);
  const missing = (hasMissing(x, "logsigWindows") ?? true) || rows.length > times.length;
  const values = linearValues(all, { shared: rowTimes }, missing);

  // Pad all windows to the same length. Repeating the last point of a window does not change its signature.
  const windows = borders.length - 1;
  const longest = largest(borders.slice(1).map((end, i) => end - borders[i])) + 1;
  const indices = Int32Array.from({ length: windows * longest }, (_, i) => {
    const window = Math.floor(i / longest);
    return Math.min(borders[window] + i % longest, borders[window + 1]);
  });
  const points = values.take(tensor(indices, { shape: [windows, longest], dtype: "int32" }), -2);
  const increments = logsignature(points, depth);
  const start = values.slice(-2, 0, 1);
  const unused = increments.shape.at(-1)! - start.shape.at(-1)!;
  const first = start.pad(start.shape.map((_, axis) => axis === start.rank - 1 ? [0, unused] : [0, 0]));
  return concatenate([first, increments], x.rank - 2).cumsum(-2);
}

/**
 * Divides a series into windows. A border close to the time of an observation moves to the observation. Each other border becomes
 * a new row, which is interpolated.
 *
 * @returns The observation of each row (-1 for a new row) and its time, and the rows of the borders.
 */
function divide(times: Float64Array, windowLength: number) {
  const end = times[times.length - 1];
  // The tolerance prevents an extra last window whose duration is only a rounding error.
  const windows = Math.ceil((end - times[0]) / windowLength * (1 - 1e-12));
  const rows: number[] = [];
  const rowTimes: number[] = [];
  const borders: number[] = [];
  let next = 0;
  const push = (row: number, time: number) => {
    rows.push(row);
    rowTimes.push(time);
  };
  for (let i = 0; i <= windows; i++) {
    const border = Math.min(times[0] + i * windowLength, end);
    const distance = (at: number) => Math.abs(border - times[at]);
    // The tolerance of torchcde. Far from the start it can include several observations.
    const isClose = () => distance(next) <= 1e-8 + 1e-5 * Math.abs(times[next]);
    const isNext = () => times[next] < border && (!isClose() || distance(next + 1) < distance(next));
    while (isNext()) push(next, times[next++]);
    borders.push(rows.length);
    if (!isClose()) push(-1, border);
    else if (i === windows) push(next, times[next]);
  }
  for (next++; next < times.length; next++) push(next, times[next]);
  return { rows, rowTimes: Float64Array.from(rowTimes), borders };
}
