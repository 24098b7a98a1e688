import type { Series, Splits } from "../../data/series.ts";
import { arange } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, key as makeKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ForecastPrediction } from "../record/predictions.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { Calibration, Task } from "../../train/task.ts";
import { formatRecordedTime, formatTimeAfter, latestRecordedTime } from "../record/calendar.ts";
import { DataError, OptionError } from "../../device/errors.ts";
import { calibrateWindows, type CalibrationFold, type ErrorUnit } from "./calibrate_windows.ts";
import {
  type ErrorQuantiles,
  errorsAfter,
  hasErrors,
  levels,
  requireErrorQuantiles,
} from "./error_quantiles.ts";
import type { WindowModel, WindowModelKind } from "../models/forecaster.ts";
import {
  type ForecastWindow,
  gridValue,
  originRowOf,
  targetChannelsOf,
  windowAt,
  type WindowForecast,
} from "../read/forecast_windows.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { leastWidthOf, withLeastWidth } from "./least_width.ts";
import { type PredictedColumn, rangeWarnings, withWarnings } from "./range_warnings.ts";
import { maskedErrors } from "./metrics/masked_errors.ts";
import { predicting } from "../record/failed_predictions.ts";
import { groupsOfOneLength, outputsInBatches, seriesNetwork } from "../models/series_network.ts";
import { futureCovariatesOf, scalesOf, type WindowBatch, windowBatches } from "../models/window_batches.ts";

/** Minimum unit of errors, in standard deviations of the training set: a model may fit its history exactly. */
const leastUnit = 1e-6;

/** A model that forecasts series with the windows of its record. */
export interface WindowForecaster {
  readonly model: WindowModel;
  toBatch(windows: readonly ForecastWindow[]): WindowBatch;
  /** As `toBatch`, in batches of equal length: each window is read exactly as if it were alone. */
  toBatches(windows: readonly ForecastWindow[]): WindowBatch[];
  evaluate: Task<WindowBatch>["evaluate"];
  /** Reads the parameters of a model that computes on the host, after they were loaded from a file. */
  load(): Promise<void>;
  /** As `load`. Then updates `steps` of the batches, which a model of histories computes from its parameters. */
  refresh(batches: Splits<WindowBatch>, windows: Splits<readonly ForecastWindow[]>): Promise<void>;
  /** Forecasts of series. */
  predict(series: readonly Series[]): Promise<ForecastPrediction[]>;
  /** Forecasts of windows, by default at the times of their targets. */
  forecast(
    windows: readonly ForecastWindow[],
    times?: readonly ArrayLike<number>[],
  ): Promise<WindowForecast[]>;
  /**
   * Computes the quantiles of the errors in windows outside the training set. Later forecasts have quantiles.
   *
   * @param finish Fits a model in closed form as it will forecast, after the folds.
   */
  calibrate(folds: readonly CalibrationFold[], finish?: () => Promise<void>): Promise<ErrorQuantiles>;
  useCalibration(stored: Calibration): void;
}

/**
 * Makes the forecaster of a run.
 *
 * @throws {OptionError} If channels are known ahead of time, and the model cannot be used with them.
 */
export function windowForecaster(
  settings: SeriesSettings,
  record: DataRecord,
  kind: WindowModelKind,
): WindowForecaster {
  const { channels, windows } = record;
  const sizes = windows!;
  const { context, horizon, gap } = sizes;
  const width = channels.length;
  const targetChannels = targetChannelsOf(channels);
  const key = makeKey(settings.seed);
  const name = settings.model ?? "linear";
  const futureCovariates = futureCovariatesOf(channels).length;
  if (futureCovariates > 0 && !kind.takesKnown) {
    throw new OptionError("unusable-option", `${name} uses no values known ahead of time`, {
      option: "known",
      fixes: [(write) => `choose another model, or leave out ${write("known")}`],
    });
  }
  const unscaled = channels.map((channel) => ({ ...channel, mean: 0, standardDeviation: 1 }));
  let network: ReturnType<typeof seriesNetwork> | undefined;
  const model = kind.make({
    ...{ channels: width, futureCovariates, context, horizon, hidden: settings.hidden, key },
    ...{
      statistics: channels,
      targetChannels,
      gap,
      time: record.time,
      season: sizes.season,
      fillsSeason: sizes.fillsSeason,
      names: record.split.train.map(({ name }) => name),
    },
    network: (kind, outputs) =>
      network = seriesNetwork(
        {
          ...{ record: { ...record, channels: unscaled }, settings: { ...settings, model: name }, key },
          ...{ models: { [name]: kind }, width: 32, depth: 1 },
        },
        outputs,
      ),
  });

  const { host } = model;
  const toBatch = windowBatches(record, network, host);

  const deviations = channels.map(({ standardDeviation }) => standardDeviation);
  /**
   * Unit of the errors: the standard deviation that a model of histories computes for each step, or the
   * standard deviation of the window. For channels in `inDataUnits`, and for a series that is shorter than a
   * window, it is the standard deviation of the training set.
   */
  const unitOf = (window: ForecastWindow, inDataUnits: readonly number[] = []): ErrorUnit => {
    if (host?.reads === "histories") {
      const forecast = host.forecast(window);
      return (channel, step) =>
        Math.max(forecast[channel].standardDeviations?.[step - 1] ?? 0, leastUnit * deviations[channel]);
    }
    const isShort = window.observed < context;
    const scales = isShort ? [] : scalesOf(window.grid, channels);
    return (channel) =>
      isShort || inDataUnits.includes(channel) ? deviations[channel] : scales[channel].standardDeviation;
  };

  /**
   * Forecasts at the steps 1, 2, ..., in standard deviations of the training set. Shape
   * (batch, horizon, channels).
   */
  const predictSteps = (batch: WindowBatch, key?: Key) => model(batch, key).mul(batch.scale).add(batch.level);

  /** Length of a window's observations in the inputs of the network. */
  const lengthOf = ({ past }: ForecastWindow) => network?.lengthOf(past) ?? 0;

  let calibration: ErrorQuantiles | undefined;
  /**
   * Expected values at the steps 1, 2, ... of each window, in the units of the data: `(horizon, channels)`.
   */
  const expect = async (windows: readonly ForecastWindow[]) => {
    const expected = host ? windows.map(hostRows) : await networkRows(windows);
    windows.forEach(({ series }, i) => {
      if (expected[i].every(Number.isFinite)) return;
      throw new DataError(
        "no-prediction",
        `series "${series}": the forecast is not a number; its values or times are far outside the range ` +
          "that the model learned from",
      );
    });
    return expected;
  };
  const networkRows = async (windows: readonly ForecastWindow[]) => {
    const read = await outputsInBatches(windows, lengthOf, (some) => predictSteps(toBatch(some)));
    return read.map((row) =>
      Float64Array.from(row, (value, at) => {
        const { mean, standardDeviation } = channels[at % width];
        return value * standardDeviation + mean;
      })
    );
  };
  const hostRows = (window: ForecastWindow) => {
    const forecasts = host!.forecast(window);
    return Float64Array.from(
      { length: horizon * width },
      (_, at) => forecasts[at % width].steps[Math.floor(at / width)],
    );
  };
  const forecast: WindowForecaster["forecast"] = async (windows, times = windows.map(({ at }) => at)) => {
    const expected = await expect(windows);
    return windows.map((window, i) => {
      const unit = unitOf(window, calibration?.inDataUnits);
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
        const least = leastWidthOf(window, channel, width);
        /** Quantiles of the errors at each step, in the units of the data. Step 0 is the forecast origin. */
        const offsets = hasErrors(errors?.[channel])
          ? errors![channel].map((quantiles, i) =>
            withLeastWidth(quantiles.map((error) => error * unit(channel, i + 1)), least)
          )
          : undefined;
        return {
          mean: at(line),
          quantiles: offsets
            ? levels.map((_, level) =>
              at(line.map((value, step) => step === 0 ? value : value + offsets[step - 1][level]))
            )
            : [],
        };
      });
    });
  };

  /** @throws {DataError} If the steps of a forecast cannot be represented as distinct times. */
  const requireSteps = (name: string, now: number) => {
    if (now + gap > now && now + horizon * gap <= latestRecordedTime(record.time)) return;
    throw new DataError(
      "no-prediction",
      `series "${name}": no forecast after time ${
        formatRecordedTime(now, record.time)
      }: the next times are too large to represent`,
    );
  };

  const load = async () => await host?.load();

  return {
    model,
    toBatch,
    toBatches: (windows) => groupsOfOneLength(windows, lengthOf).map(toBatch),
    evaluate(batch, key) {
      const predicted = predictSteps(batch, key);
      if (!batch.at) return maskedErrors(predicted, batch.targets);
      const valuesAtOrigin = batch.grid.slice(1, -1).mul(batch.scale).add(batch.level);
      return maskedErrors(atTimes(concatenate([valuesAtOrigin, predicted], 1), batch.at), batch.targets);
    },
    forecast,
    async predict(series) {
      const originRows = series.map((one) => originRowOf(one, width, targetChannels));
      const times = series.map(({ name, times }, i) => {
        const [now, asked] = [times[originRows[i]], Array.from(times.subarray(originRows[i] + 1))];
        const beyond = asked.find((time) => time > now + (horizon + 1e-6) * gap);
        if (beyond !== undefined) {
          throw new DataError(
            "no-prediction",
            `series "${name}": a time ${
              (beyond - now) / gap
            } steps after its last observation, but the model was trained for ${horizon} steps`,
            { option: "horizon", fixes: ["request earlier times, or train with a longer horizon"] },
          );
        }
        requireSteps(name, now);
        const durations = Array.from({ length: horizon }, (_, step) => (step + 1) * gap);
        return asked.length > 0
          ? { times: asked, texts: asked.map((time) => formatRecordedTime(time, record.time)) }
          : {
            times: durations.map((duration) => now + duration),
            texts: durations.map((duration) => formatTimeAfter(now, duration, record.time)),
          };
      });
      const windows = series.map((one, i) => windowAt(one, originRows[i], width, sizes));
      const at = times.map(({ times }, i) => times.map((time) => (time - windows[i].origin) / gap));
      const forecasts = await predicting(series.map(({ name }) => name), forecast(windows, at));
      return series.map((one, i) =>
        withWarnings<ForecastPrediction>({
          series: one.name,
          times: record.time.kind === "number" ? times[i].times : times[i].texts,
          channels: Object.fromEntries(targetChannels.map((channel) => {
            const { mean, quantiles } = forecasts[i][channel];
            return [channels[channel].name, {
              mean,
              quantiles: Object.fromEntries(quantiles.map((line, level) => [`${levels[level]}`, line])),
            }];
          })),
        }, rangeWarnings(record, one, forecastColumns(record, forecasts[i])))
      );
    },
    load,
    async refresh(batches, windows) {
      await load();
      if (!host) return;
      for (const part of ["train", "validation", "test"] as const) {
        tidy(() => batches[part].steps!.assign(toBatch(windows[part]).steps!));
      }
    },
    async calibrate(folds, finish) {
      const isHistory = host?.reads === "histories";
      return calibration = await calibrateWindows({ folds, finish, record, forecast, unitOf, isHistory });
    },
    useCalibration: (stored) => calibration = requireErrorQuantiles(stored, channels.length, horizon),
  };
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

/**
 * Forecasts of the channels of a record, to compare with their ranges.
 *
 * @param forecast Forecast of each channel.
 */
export function forecastColumns(
  { channels, ranges }: Pick<DataRecord, "channels" | "ranges">,
  forecast: WindowForecast,
): PredictedColumn[] {
  return targetChannelsOf(channels).map((channel) => ({
    ...{ column: channels[channel].name, values: forecast[channel].mean },
    range: ranges?.channels[channel] ?? null,
  }));
}
