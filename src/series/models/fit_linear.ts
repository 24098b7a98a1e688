/** Fits the linear forecaster by ridge regression. */
import type { DataRecord } from "../record/data_record.ts";
import { followingSteps, type ForecastWindow } from "../read/forecast_windows.ts";
import {
  addRows,
  type Coefficients,
  emptyMoments,
  type Moments,
  type RegressionRow,
  solveRidge,
  squaredErrors,
} from "../math/least_squares.ts";
import { futureValues, scalesOf } from "./window_batches.ts";

/** Sizes of the linear forecaster, and the channels of its data. */
interface LinearSizes {
  readonly statistics: DataRecord["channels"];
  /** Positions of the channels to forecast. */
  readonly targetChannels: readonly number[];
  /** Number of channels known ahead of time. */
  readonly futureCovariates: number;
  readonly context: number;
  readonly horizon: number;
  readonly season: number;
  readonly gap: number;
}

/** Penalties to choose from, as fractions of the number of rows. */
const penalties = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100];

/** Penalty if there are too few windows to choose one. */
const usualPenalty = 1;

/** Fraction of the windows, the latest, on which the penalty is chosen. */
const heldOut = 0.25;

/** Maximum number of multiplications for X'X. With more, only every n-th window is used. */
const maxProducts = 2e10;

/** Minimum distance of a value of a past that is not constant from its mean, in standard deviations of the past. */
export const leastChange = 1e-6;

/** Number of windows whose rows are in memory at once. */
const blockSize = 64;

/**
 * Fits the map of a channel's past, scaled to mean 0 and standard deviation 1, to its following values, and
 * the map of the values known ahead of time. The penalty holds for the difference from the naive forecast,
 * which repeats the last season or the last value: with few windows the forecast is close to it. The penalty is
 * chosen on the latest of the windows `tuning`, by default of all windows. A constant past has no bias, so that its
 * forecast is the constant. A row is weighted by the standard
 * deviation of its past, divided by that of its channel in its series: errors count in the unit of the measures,
 * and each series counts as much as others.
 *
 * @param tuning Windows to choose the penalty on. Fits to different periods have the same penalty if it is chosen
 * on the same windows.
 * @returns `weight` has shape (horizon, context + 1), the bias last. `shared` has shape (channels, futureCovariates).
 */
export function fitLinear(
  windows: readonly ForecastWindow[],
  sizes: LinearSizes,
  tuning: readonly ForecastWindow[] = windows,
): Coefficients {
  const { context, horizon } = sizes;
  const penalty = penaltyFor(tuning, sizes);
  const moments = momentsOf(windows, sizes);
  const { weight, shared } = moments.rows > 0
    ? solveRidge(moments, penalty)
    : { weight: new Float64Array(moments.yx.length), shared: new Float64Array(moments.shared) };
  for (let h = 0; h < horizon; h++) weight[h * (context + 1) + naiveStep(h, sizes)]++;
  return { weight, shared };
}

/** Chooses the penalty by the errors on the latest windows, after a fit to windows that end before them. */
function penaltyFor(windows: readonly ForecastWindow[], sizes: LinearSizes): number {
  const origins = windows.map(({ origin }) => origin).sort((a, b) => a - b);
  const cut = origins[Math.floor((1 - heldOut) * origins.length)] ?? Infinity;
  const before = momentsOf(windows.filter(({ origin }) => origin + sizes.horizon * sizes.gap <= cut), sizes);
  const after = momentsOf(windows.filter(({ origin }) => origin >= cut), sizes);
  if (before.rows === 0 || after.rows === 0) return usualPenalty;
  const errors = penalties.map((penalty) => squaredErrors(after, solveRidge(before, penalty)));
  return penalties[errors.indexOf(Math.min(...errors))];
}

function momentsOf(windows: readonly ForecastWindow[], sizes: LinearSizes): Moments {
  const { statistics, targetChannels, futureCovariates, context, horizon } = sizes;
  const every = Math.ceil(windows.length * targetChannels.length * (context + 1) ** 2 / maxProducts);
  const used = windows.filter((_, i) => i % every === 0);
  const unitOf = standardDeviationsOf(used, statistics);
  const moments = emptyMoments({
    inputs: context + 1,
    outputs: horizon,
    shared: futureCovariates * statistics.length,
  });
  for (let start = 0; start < used.length; start += blockSize) {
    addRows(moments, used.slice(start, start + blockSize).flatMap((window) => rowsOf(window, sizes, unitOf)));
  }
  return moments;
}

/** Grid step of the value that the naive forecast repeats at the step `h + 1`. */
function naiveStep(h: number, { context, season }: Pick<LinearSizes, "context" | "season">): number {
  return context - (season <= context ? season - h % season : 1);
}

/** Standard deviation of all values in the pasts of each series, by channel. */
export function standardDeviationsOf(
  windows: readonly ForecastWindow[],
  statistics: LinearSizes["statistics"],
): (series: string, channel: number) => number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const standardDeviations = new Map<string, number[]>();
  for (const [name, seriesWindows] of Map.groupBy(windows, ({ series }) => series)) {
    const scales = seriesWindows.map(({ grid }) => scalesOf(grid, statistics));
    standardDeviations.set(
      name,
      statistics.map((_, channel) => {
        const overall = mean(scales.map((scale) => scale[channel].mean));
        // The variance of all values is the mean variance within windows plus the variance of the windows' means.
        const variances = scales.map((scale) =>
          scale[channel].standardDeviation ** 2 + (scale[channel].mean - overall) ** 2
        );
        return Math.sqrt(mean(variances));
      }),
    );
  }
  return (series, channel) => standardDeviations.get(series)![channel];
}

/** A row for each channel to forecast that is observed in the past and at the following steps. */
function rowsOf(
  window: ForecastWindow,
  sizes: LinearSizes,
  unitOf: (series: string, channel: number) => number,
): RegressionRow[] {
  const { statistics, targetChannels, context, horizon, futureCovariates } = sizes;
  const width = statistics.length;
  const scales = scalesOf(window.grid, statistics);
  const covariateValues = futureValues(window, statistics, horizon);
  return targetChannels.flatMap((channel) => {
    if (Number.isNaN(window.grid[channel])) return [];
    const following = followingSteps(window, channel, statistics, horizon);
    if (following.some(Number.isNaN)) return [];
    const { mean, standardDeviation } = scales[channel];
    const unit = unitOf(window.series, channel);
    const x = Float64Array.from(
      { length: context + 1 },
      (_, step) => step === context ? 0 : (window.grid[step * width + channel] - mean) / unit,
    );
    const isConstant = x.every((value) => Math.abs(value) * unit <= leastChange * standardDeviation);
    if (!isConstant) x[context] = standardDeviation / unit;
    const y = following.map((value, h) => (value - mean) / unit - x[naiveStep(h, sizes)]);
    return [{
      x,
      y,
      z: covariateValues.map((value) => value * standardDeviation / unit),
      at: channel * futureCovariates,
    }];
  });
}
