/** Quantiles of the forecast errors in windows outside the training set. */
import { DivergenceError } from "../../solvers/divergence.ts";
import type { DataRecord } from "../record/data_record.ts";
import { type ErrorQuantiles, ErrorSample, hasErrors, type StepErrors, widthOf } from "./error_quantiles.ts";
import { type ForecastWindow, type WindowForecast, withShorterPast } from "../read/forecast_windows.ts";

/** Unit of the error of a channel at a step from 1, in the units of the data. */
export type ErrorUnit = (channel: number, step: number) => number;

/** Windows outside the period that a model was fitted to. */
export interface CalibrationFold {
  /** Fits the model to a period before the targets of the windows. */
  fit?(): Promise<void>;
  readonly windows: readonly ForecastWindow[];
}

/** Options of {@linkcode calibrateWindows}. */
interface CalibrationOptions {
  folds: readonly CalibrationFold[];
  /** Fits the model as it will forecast, after the folds. */
  finish?(): Promise<void>;
  record: DataRecord;
  forecast(windows: readonly ForecastWindow[]): Promise<WindowForecast[]>;
  unitOf(window: ForecastWindow): ErrorUnit;
  /** Whether the model reads histories of any length, and computes the units itself. */
  isHistory: boolean;
}

/** Maximum number of windows used to measure the errors after a short history. */
const maxShortened = 500;

/**
 * Intervals in units of the training set are used if their width is below this fraction of the width in units
 * of each window.
 */
const clearlyNarrower = 0.8;

/** Computes the quantiles of the errors after whole and after short pasts, each error divided by its unit. */
export async function calibrateWindows(
  { folds, finish, record, forecast, unitOf, isHistory }: CalibrationOptions,
): Promise<ErrorQuantiles> {
  const { channels, windows: sizes } = record;
  const { context, horizon } = sizes!;
  const width = channels.length;
  const windows = folds.flatMap(({ windows }) => windows);
  const inData: ErrorUnit = (channel) => channels[channel].standardDeviation;
  const samples = new Map<string, ErrorSample>();
  const add = (
    name: string,
    windows: readonly ForecastWindow[],
    forecasts: readonly WindowForecast[],
    units: readonly ErrorUnit[],
  ) => {
    const sample = samples.get(name) ?? new ErrorSample(width, horizon);
    samples.set(name, sample);
    windows.forEach(({ targets, at }, i) => {
      targets.forEach((truth, t) => {
        const [row, channel] = [Math.floor(t / width), t % width];
        const step = Math.min(horizon, Math.max(1, Math.round(at[row])));
        sample.add(channel, at[row], (truth - forecasts[i][channel].mean[row]) / units[i](channel, step));
      });
    });
  };

  // A model of histories has no fixed number of past steps: its errors hold from the median of the windows.
  const from = isHistory ? medianOf(windows.map(({ observed }) => observed)) : context;
  /** Sum of the units of each channel over the windows with a whole past. */
  const unitSums = channels.map(() => 0);
  for (const fold of folds) {
    await fold.fit?.();
    const whole = fold.windows.filter(({ observed }) => observed >= from);
    if (whole.length === 0) continue;
    const [forecasts, units] = [await forecast(whole), whole.map((window) => unitOf(window))];
    add("whole", whole, forecasts, units);
    if (!isHistory) add("whole in data units", whole, forecasts, whole.map(() => inData));
    unitSums.forEach((_, channel) => units.forEach((unit) => unitSums[channel] += unit(channel, 1)));
  }
  // The model was fitted to whole pasts only, so the errors of the final fit on shortened pasts are not too small.
  await finish?.();
  const every = Math.ceil(windows.length / maxShortened);
  const some = windows.filter((_, i) => i % every === 0);
  const short: { steps: number; errors: StepErrors }[] = [];
  for (let pastSteps = Math.floor(from / 2); pastSteps >= 1; pastSteps = Math.floor(pastSteps / 2)) {
    const cut = some.filter(({ observed }) => observed >= pastSteps)
      .map((window) => withShorterPast(window, pastSteps, width, sizes!));
    const forecasts = cut.length > 0 ? await forecast(cut).catch(ignoreDivergence) : undefined;
    if (!forecasts) continue;
    add(`${pastSteps}`, cut, forecasts, cut.map((window) => isHistory ? unitOf(window) : inData));
    short.push({ steps: pastSteps, errors: samples.get(`${pastSteps}`)!.quantiles() });
  }
  const errors = samples.get("whole")?.quantiles();
  if (!errors) return { errors: short[0]?.errors ?? new ErrorSample(width, horizon).quantiles(), short };
  if (isHistory) return { errors, short, from };
  const inDataUnits = samples.get("whole in data units")!.quantiles();
  const wholeCount = windows.filter(({ observed }) => observed >= from).length;
  // If a channel is constant in a window and then changes, the window's standard deviation is not a useful
  // unit.
  const better = [...channels.keys()].filter((channel) =>
    hasErrors(errors[channel]) &&
    inData(channel, 1) * widthOf(inDataUnits[channel]) <
      clearlyNarrower * unitSums[channel] / wholeCount * widthOf(errors[channel])
  );
  return {
    errors: errors.map((channelErrors, channel) =>
      better.includes(channel) ? inDataUnits[channel] : channelErrors
    ),
    short,
    inDataUnits: better,
  };
}

/** Returns undefined for a divergence, which can follow from a very short history, and rethrows other errors. */
function ignoreDivergence(error: unknown): undefined {
  if (!(error instanceof DivergenceError)) throw error;
}

/** Lower median; 0 without values. */
function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}
