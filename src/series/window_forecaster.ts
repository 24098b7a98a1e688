import type { Series } from "../data/series.ts";
import { largest } from "../device/extremes.ts";
import { DivergenceError } from "../solvers/divergence.ts";
import { arange, tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { type Key, key as makeKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ForecastPrediction } from "./predictions.ts";
import type { DataRecord } from "./data_record.ts";
import type { Calibration, Task } from "../train/task.ts";
import { formatTime, latestTime } from "../data/format.ts";
import { DataError } from "../device/errors.ts";
import {
  type ErrorQuantiles,
  errorsAfter,
  ErrorSample,
  levels,
  requireErrorQuantiles,
  type StepErrors,
} from "./error_quantiles.ts";
import { type Given, type WindowModel, windowModels } from "./window_models.ts";
import {
  continuedOf,
  type ForecastWindow,
  gridValue,
  presentOf,
  windowAt,
  withShorterPast,
} from "./forecast_windows.ts";
import type { SeriesSettings } from "./settings.ts";
import { kindNamed } from "./model_kind.ts";
import { knownErrors } from "./regression.ts";
import { groupsOfOneLength, predicting, readAlike, seriesNetwork } from "./series_network.ts";

/** Windows in the form that the model reads. */
export type WindowBatch = Given & {
  /**
   * Mean of each channel over the grid, in standard deviations of the training set. Shape
   * (batch, 1, channels).
   */
  readonly level: Tensor;
  /** Standard deviation of each channel over the grid, in the same unit. Shape (batch, 1, channels). */
  readonly spread: Tensor;
  /** Values to forecast, in the same unit; NaN is unknown. Shape (batch, times, channels). */
  readonly targets: Tensor;
  /**
   * Times of the values to forecast, in steps after the present. By default the steps 1, 2, .... Shape
   * (batch, times).
   */
  readonly at?: Tensor;
};

/**
 * Minimum standard deviation of a window, in standard deviations of the training set. Windows are divided by
 * it.
 */
const leastSpread = 0.01;

/** Maximum number of windows used to measure the errors after a short history. */
const maxShortened = 500;

/**
 * Intervals in units of the training set are used if their width is below this fraction of the width in units
 * of each window.
 */
const clearlyNarrower = 0.8;

/** A model that forecasts series with the windows of its record. */
interface WindowForecaster {
  readonly model: WindowModel;
  toBatch(windows: readonly ForecastWindow[]): WindowBatch;
  /** As `toBatch`, in batches of equal length: each window is read exactly as if it were alone. */
  toBatches(windows: readonly ForecastWindow[]): WindowBatch[];
  evaluate: Task<WindowBatch>["evaluate"];
  /** Forecasts of series. */
  predict(series: readonly Series[]): Promise<ForecastPrediction[]>;
  /** Forecasts of windows, by default at the times of their targets. */
  forecast(
    windows: readonly ForecastWindow[],
    times?: readonly ArrayLike<number>[],
  ): Promise<WindowForecast[]>;
  /**
   * Computes the quantiles of the errors in windows outside the training set. Later forecasts have quantiles.
   */
  calibrate(windows: readonly ForecastWindow[]): Promise<ErrorQuantiles>;
  useCalibration(stored: Calibration): void;
}

/** Expected values and quantiles of each channel, at some times. */
export type WindowForecast = readonly { readonly mean: number[]; readonly quantiles: readonly number[][] }[];

export function windowForecaster(settings: SeriesSettings, record: DataRecord): WindowForecaster {
  const { channels, windows } = record;
  const sizes = windows!;
  const { context, horizon, gap } = sizes;
  const width = channels.length;
  /**
   * Channels that are known ahead of time. They are inputs of the model over the horizon and are not
   * forecast.
   */
  const ahead = [...channels.keys()].filter((channel) => channels[channel].role === "known");
  const continued = continuedOf(channels);
  const key = makeKey(settings.seed);
  const name = settings.model ?? "linear";
  const unscaled = channels.map((channel) => ({ ...channel, mean: 0, standardDeviation: 1 }));
  let network: ReturnType<typeof seriesNetwork> | undefined;
  const model = kindNamed(windowModels, name).make({
    ...{ channels: width, ahead: ahead.length, context, horizon, hidden: settings.hidden, key },
    network: (outputs) =>
      network = seriesNetwork(
        { record: { ...record, channels: unscaled }, settings, key, width: 32, depth: 1 },
        outputs,
      ),
  });

  /**
   * Mean and standard deviation of each channel over a grid `(context, channels)`, in the units of the data.
   * For a channel without observations, those of the training set.
   */
  const spreadsOf = (grid: Float64Array) =>
    channels.map(({ mean: usual, standardDeviation }, channel) => {
      if (Number.isNaN(grid[channel])) return { mean: usual, deviation: standardDeviation };
      const column = Array.from({ length: context }, (_, t) => grid[t * width + channel]);
      const mean = column.reduce((sum, value) => sum + value, 0) / context;
      const square = column.reduce((sum, value) => sum + (value - mean) ** 2, 0) / context;
      return { mean, deviation: Math.max(Math.sqrt(square), leastSpread * standardDeviation) };
    });
  const deviations = channels.map(({ standardDeviation }) => standardDeviation);
  /**
   * Unit of the errors of each channel: the standard deviation of the window. For channels in `inDataUnits`,
   * and for a series that is shorter than a window, it is the standard deviation of the training set.
   */
  const unitsOf = ({ grid, observed }: ForecastWindow, inDataUnits: readonly number[] = []) =>
    observed < context
      ? deviations
      : spreadsOf(grid).map(({ deviation }, channel) =>
        inDataUnits.includes(channel) ? deviations[channel] : deviation
      );

  const toBatch = (given: readonly ForecastWindow[]): WindowBatch => {
    const count = given.length;
    const [grid, level, spread] = [context, 1, 1].map((rows) => new Float32Array(count * rows * width));
    const past = given.map((window, i) => {
      const own = spreadsOf(window.grid);
      window.grid.forEach((value, at) => {
        const channel = at % width;
        grid[i * context * width + at] = Number.isNaN(value)
          ? 0
          : (value - own[channel].mean) / own[channel].deviation;
      });
      own.forEach(({ mean, deviation }, channel) => {
        level[i * width + channel] = (mean - channels[channel].mean) / channels[channel].standardDeviation;
        spread[i * width + channel] = deviation / channels[channel].standardDeviation;
      });
      return {
        ...window.past,
        values: window.past.values.map((value, at) =>
          (value - own[at % width].mean) / own[at % width].deviation
        ),
      };
    });
    const isRegular = given.every(({ at }) =>
      at.length === horizon && at.every((step, i) => Math.abs(step - i - 1) < 1e-3)
    );
    const length = isRegular ? horizon : Math.max(1, largest(given.map(({ at }) => at.length)));
    const targets = new Float32Array(count * length * width).fill(NaN);
    const at = new Float32Array(count * length);
    given.forEach((window, i) => {
      at.set(window.at, i * length);
      window.targets.forEach((value, t) => {
        const { mean, standardDeviation } = channels[t % width];
        if (continued.includes(t % width)) {
          targets[i * length * width + t] = (value - mean) / standardDeviation;
        }
      });
    });
    const known = new Float32Array(count * horizon * ahead.length);
    given.forEach(({ at, targets }, i) => {
      // Use the last row up to each step: rows need not coincide with steps.
      for (let step = 0, row = -1; step < horizon; step++) {
        while (row + 1 < at.length && at[row + 1] <= step + 1 + 1e-3) row++;
        ahead.forEach((channel, k) => {
          const { mean, standardDeviation } = channels[channel];
          const value = row < 0 ? NaN : (targets[row * width + channel] - mean) / standardDeviation;
          known[(i * horizon + step) * ahead.length + k] = Number.isNaN(value) ? 0 : value;
        });
      }
    });
    return {
      grid: tensor(grid, { shape: [count, context, width] }),
      ...(network ? { inputs: network.inputs(past) } : {}),
      ...(ahead.length > 0 ? { ahead: tensor(known, { shape: [count, horizon, ahead.length] }) } : {}),
      level: tensor(level, { shape: [count, 1, width] }),
      spread: tensor(spread, { shape: [count, 1, width] }),
      targets: tensor(targets, { shape: [count, length, width] }),
      ...(isRegular ? {} : { at: tensor(at, { shape: [count, length] }) }),
    };
  };
  /**
   * Forecasts at the steps 1, 2, ..., in standard deviations of the training set. Shape
   * (batch, horizon, channels).
   */
  const steps = (batch: WindowBatch, key?: Key) => model(batch, key).mul(batch.spread).add(batch.level);

  /** Length of a window's observations in the inputs of the network. */
  const lengthOf = ({ past }: ForecastWindow) => network?.lengthOf(past) ?? 0;

  let calibration: ErrorQuantiles | undefined;
  /**
   * Expected values at the steps 1, 2, ... of each window, in the units of the data: `(horizon, channels)`.
   */
  const expect = async (windows: readonly ForecastWindow[]) => {
    const read = await readAlike(windows, lengthOf, (some) => steps(toBatch(some)));
    return read.map((own, i) =>
      Float64Array.from(own, (value, at) => {
        if (!Number.isFinite(value)) {
          throw new DataError(
            "no-prediction",
            `series "${
              windows[i].series
            }": the forecast is not a number; its values or its times are too far from those ` +
              "that the model learned from",
          );
        }
        const { mean, standardDeviation } = channels[at % width];
        return value * standardDeviation + mean;
      })
    );
  };
  const forecast: WindowForecaster["forecast"] = async (windows, times = windows.map(({ at }) => at)) => {
    const expected = await expect(windows);
    return windows.map((window, i) => {
      const units = unitsOf(window, calibration?.inDataUnits);
      const errors = calibration && errorsAfter(calibration, window.observed, context);
      return channels.map((_, channel) => {
        const line = Array.from(
          { length: horizon + 1 },
          (_, step) =>
            step === 0
              ? gridValue(window, context - 1, channel, channels)
              : expected[i][(step - 1) * width + channel],
        );
        const at = (values: readonly number[]) => Array.from(times[i], (time) => between(values, time));
        return {
          mean: at(line),
          quantiles: errors
            ? levels.map((_, level) =>
              at(
                line.map((value, step) =>
                  step === 0 ? value : value + errors[channel][step - 1][level] * units[channel]
                ),
              )
            )
            : [],
        };
      });
    });
  };

  /** Quantiles of the forecast errors in windows, each error divided by its unit. */
  const quantilesOf = (
    windows: readonly ForecastWindow[],
    forecasts: readonly WindowForecast[],
    units: readonly (readonly number[])[],
  ): StepErrors => {
    const sample = new ErrorSample(width, horizon);
    windows.forEach((window, i) => {
      window.targets.forEach((truth, t) => {
        const [row, channel] = [Math.floor(t / width), t % width];
        const error = truth - forecasts[i][channel].mean[row];
        sample.add(channel, window.at[row], error / units[i][channel]);
      });
    });
    return sample.quantiles();
  };

  /** @throws {DataError} If the steps of a forecast cannot be represented as distinct times. */
  const requireSteps = (name: string, now: number) => {
    if (now + gap > now && now + horizon * gap <= latestTime(record.time.kind)) return;
    throw new DataError(
      "no-prediction",
      `series "${name}": no forecast after time ${now}: numbers, or dates, that large are not told apart`,
    );
  };

  return {
    model,
    toBatch,
    toBatches: (windows) => groupsOfOneLength(windows, lengthOf).map(toBatch),
    evaluate(batch, key) {
      const predicted = steps(batch, key);
      if (!batch.at) return knownErrors(predicted, batch.targets);
      const present = batch.grid.slice(1, -1).mul(batch.spread).add(batch.level);
      return knownErrors(atTimes(concatenate([present, predicted], 1), batch.at), batch.targets);
    },
    forecast,
    async predict(series) {
      const presents = series.map((one) => presentOf(one, width, continued));
      const times = series.map(({ name, times }, i) => {
        const [now, asked] = [times[presents[i]], Array.from(times.subarray(presents[i] + 1))];
        const beyond = asked.find((time) => time > now + (horizon + 1e-6) * gap);
        if (beyond !== undefined) {
          throw new DataError(
            "no-prediction",
            `series "${name}": asked ${
              (beyond - now) / gap
            } steps after its last observation, and the model was trained for ` +
              horizon,
            { option: "horizon", fixes: ["ask for less, or train with a longer horizon"] },
          );
        }
        requireSteps(name, now);
        return asked.length > 0
          ? asked
          : Array.from({ length: horizon }, (_, step) => now + (step + 1) * gap);
      });
      const windows = series.map((one, i) => windowAt(one, presents[i], width, sizes));
      const at = times.map((own, i) => own.map((time) => (time - windows[i].present) / gap));
      const forecasts = await predicting(series.map(({ name }) => name), forecast(windows, at));
      return series.map(({ name }, i): ForecastPrediction => ({
        series: name,
        times: record.time.kind === "number"
          ? times[i]
          : times[i].map((time) => formatTime(time, record.time.kind)),
        channels: Object.fromEntries(continued.map((channel) => {
          const { mean, quantiles } = forecasts[i][channel];
          return [channels[channel].name, {
            mean,
            quantiles: Object.fromEntries(quantiles.map((line, level) => [`${levels[level]}`, line])),
          }];
        })),
      }));
    },
    async calibrate(windows) {
      const every = Math.ceil(windows.length / maxShortened);
      const some = windows.filter((_, i) => i % every === 0);
      const short: { steps: number; errors: StepErrors }[] = [];
      for (let steps = Math.floor(context / 2); steps >= 1; steps = Math.floor(steps / 2)) {
        const begun = some.filter(({ observed }) => observed >= steps);
        if (begun.length === 0) continue;
        const cut = begun.map((window) => withShorterPast(window, steps, width, sizes));
        const forecasts = await forecast(cut).catch(unlessDiverged);
        if (forecasts) short.push({ steps, errors: quantilesOf(cut, forecasts, cut.map(() => deviations)) });
      }
      const whole = windows.filter(({ observed }) => observed >= context);
      if (whole.length === 0 && short.length > 0) return calibration = { errors: short[0].errors, short };
      const [forecasts, units] = [await forecast(whole), whole.map((window) => unitsOf(window))];
      const inWindowUnits = quantilesOf(whole, forecasts, units);
      const inDataUnits = quantilesOf(whole, forecasts, whole.map(() => deviations));
      // If a channel is constant in a window and then changes, the window's standard deviation is not a
      // useful unit.
      const better = [...channels.keys()].filter((channel) => {
        const unit = units.reduce((sum, own) => sum + own[channel], 0) / units.length;
        return deviations[channel] * widthOf(inDataUnits[channel]) <
          clearlyNarrower * unit * widthOf(inWindowUnits[channel]);
      });
      const errors = inWindowUnits.map((own, channel) =>
        better.includes(channel) ? inDataUnits[channel] : own
      );
      return calibration = { errors, short, inDataUnits: better };
    },
    useCalibration: (stored) => calibration = requireErrorQuantiles(stored, channels.length, horizon),
  };
}

/** Sum of the widths of the 80 % interval over all steps. */
function widthOf(steps: StepErrors[number]): number {
  return steps.reduce((sum, errors) => sum + errors.at(-1)! - errors[0], 0);
}

/** Ignores divergence after a very short history: the model makes no forecast there. */
function unlessDiverged(error: unknown): undefined {
  if (!(error instanceof DivergenceError)) throw error;
}

/**
 * Interpolates values at the steps 0, 1, ... `(batch, steps, channels)` linearly at some times
 * `(batch, times)`, in steps.
 */
function atTimes(lines: Tensor, at: Tensor): Tensor {
  const grid = arange(lines.shape[1]).reshape([1, 1, -1]);
  const weights = at.expandDims(-1).sub(grid).abs().neg().add(1).relu();
  return weights.matmul(lines);
}

/** Interpolates values at the steps 0, 1, ... linearly. */
function between(line: readonly number[], at: number): number {
  const left = Math.min(Math.floor(at + 1e-9), line.length - 1);
  const share = at - left;
  return share < 1e-9 || left === line.length - 1
    ? line[left]
    : line[left] + share * (line[left + 1] - line[left]);
}
