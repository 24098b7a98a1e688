/** Windows as tensors: the input of the model, and the values to forecast. */
import { largest } from "../../device/min_max.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { DataRecord } from "../record/data_record.ts";
import { type ForecastWindow, futureRows, targetChannelsOf } from "../read/forecast_windows.ts";
import type { SeriesNetwork } from "./series_network.ts";
import type { HostModel, WindowInputs } from "./forecaster.ts";

/** Windows in the form that the model reads. */
export type WindowBatch = WindowInputs & {
  /**
   * Mean of each channel over the grid, in standard deviations of the training set. Shape
   * (batch, 1, channels).
   */
  readonly level: Tensor;
  /** Standard deviation of each channel over the grid, in the same unit. Shape (batch, 1, channels). */
  readonly scale: Tensor;
  /** Values to forecast, in the same unit; NaN is unknown. Shape (batch, times, channels). */
  readonly targets: Tensor;
  /**
   * Times of the values to forecast, in steps after the forecast origin. By default the steps 1, 2, .... Shape
   * (batch, times).
   */
  readonly at?: Tensor;
};

/**
 * Minimum standard deviation of a window, as a fraction of the standard deviation of the training set, or of the
 * largest absolute value in the window if that is smaller: a table may have series of very different scales.
 * Windows are divided by it.
 */
const leastDeviation = 0.01;

/** Mean and standard deviation of a channel over the grid of a window, in the units of the data. */
interface WindowScale {
  readonly mean: number;
  readonly standardDeviation: number;
}

/**
 * Mean and standard deviation of each channel over a grid `(context, channels)`, in the units of the data.
 * For a channel without observations, those of the training set.
 */
export function scalesOf(grid: Float64Array, channels: DataRecord["channels"]): WindowScale[] {
  const width = channels.length;
  const context = grid.length / width;
  return channels.map(({ mean: overall, standardDeviation }, channel) => {
    if (Number.isNaN(grid[channel])) return { mean: overall, standardDeviation };
    let [sum, squares, most] = [0, 0, 0];
    for (let t = channel; t < grid.length; t += width) {
      sum += grid[t];
      most = Math.max(most, Math.abs(grid[t]));
    }
    const mean = sum / context;
    for (let t = channel; t < grid.length; t += width) squares += (grid[t] - mean) ** 2;
    const minDeviation = leastDeviation * Math.min(standardDeviation, most || standardDeviation);
    return { mean, standardDeviation: Math.max(Math.sqrt(squares / context), minDeviation) };
  });
}

/** Positions of the channels that are known ahead of time. They are inputs of the model over the horizon. */
export function futureCovariatesOf(channels: DataRecord["channels"]): number[] {
  return [...channels.keys()].filter((channel) => channels[channel].role === "known");
}

/**
 * Values at the steps 1, 2, ... that are known ahead of time, in standard deviations of the training set. Rows
 * need not coincide with steps: a step has the values of the last row at or before the step. 0 is unknown. Shape
 * (horizon, channels known ahead).
 */
export function futureValues(
  { at, targets }: Pick<ForecastWindow, "at" | "targets">,
  channels: DataRecord["channels"],
  horizon: number,
): Float64Array {
  const futureCovariates = futureCovariatesOf(channels);
  const covariates = new Float64Array(horizon * futureCovariates.length);
  futureRows({ at }, horizon).forEach((row, step) => {
    futureCovariates.forEach((channel, k) => {
      const { mean, standardDeviation } = channels[channel];
      const value = row < 0 ? NaN : (targets[row * channels.length + channel] - mean) / standardDeviation;
      covariates[step * futureCovariates.length + k] = Number.isNaN(value) ? 0 : value;
    });
  });
  return covariates;
}

/** Makes a function that converts windows to tensors. */
export function windowBatches(
  { channels, windows }: Pick<DataRecord, "channels" | "windows">,
  network: Pick<SeriesNetwork, "inputs"> | undefined,
  host: HostModel | undefined,
): (windows: readonly ForecastWindow[]) => WindowBatch {
  const { context, horizon } = windows!;
  const width = channels.length;
  const targetChannels = targetChannelsOf(channels);
  const futureCovariates = futureCovariatesOf(channels);
  const stepsOf = (batch: readonly ForecastWindow[]): Tensor => {
    const steps = new Float32Array(batch.length * horizon * width);
    batch.forEach((window, i) => {
      const scales = scalesOf(window.grid, channels);
      host!.forecast(window).forEach((channelForecast, channel) => {
        const { mean, standardDeviation } = scales[channel];
        channelForecast.steps.forEach((value, step) => {
          steps[(i * horizon + step) * width + channel] = (value - mean) / standardDeviation;
        });
      });
    });
    return tensor(steps, { shape: [batch.length, horizon, width] });
  };
  return (batch) => {
    const count = batch.length;
    const [grid, level, scale] = [context, 1, 1].map((rows) => new Float32Array(count * rows * width));
    const past = batch.map((window, i) => {
      const scales = scalesOf(window.grid, channels);
      window.grid.forEach((value, at) => {
        const channel = at % width;
        grid[i * context * width + at] = Number.isNaN(value)
          ? 0
          : (value - scales[channel].mean) / scales[channel].standardDeviation;
      });
      scales.forEach(({ mean, standardDeviation }, channel) => {
        level[i * width + channel] = (mean - channels[channel].mean) / channels[channel].standardDeviation;
        scale[i * width + channel] = standardDeviation / channels[channel].standardDeviation;
      });
      return {
        ...window.past,
        values: window.past.values.map((value, at) =>
          (value - scales[at % width].mean) / scales[at % width].standardDeviation
        ),
      };
    });
    const isRegular = batch.every(({ at }) =>
      at.length === horizon && at.every((step, i) => Math.abs(step - i - 1) < 1e-3)
    );
    const length = isRegular ? horizon : Math.max(1, largest(batch.map(({ at }) => at.length)));
    const targets = new Float32Array(count * length * width).fill(NaN);
    const at = new Float32Array(count * length);
    batch.forEach((window, i) => {
      at.set(window.at, i * length);
      window.targets.forEach((value, t) => {
        const { mean, standardDeviation } = channels[t % width];
        if (targetChannels.includes(t % width)) {
          targets[i * length * width + t] = (value - mean) / standardDeviation;
        }
      });
    });
    const covariates = new Float32Array(count * horizon * futureCovariates.length);
    batch.forEach((window, i) => {
      covariates.set(futureValues(window, channels, horizon), i * horizon * futureCovariates.length);
    });
    return {
      grid: tensor(grid, { shape: [count, context, width] }),
      ...(network ? { inputs: network.inputs(past) } : {}),
      ...(futureCovariates.length > 0
        ? { futureCovariates: tensor(covariates, { shape: [count, horizon, futureCovariates.length] }) }
        : {}),
      level: tensor(level, { shape: [count, 1, width] }),
      scale: tensor(scale, { shape: [count, 1, width] }),
      targets: tensor(targets, { shape: [count, length, width] }),
      ...(host ? { steps: stepsOf(batch) } : {}),
      ...(isRegular ? {} : { at: tensor(at, { shape: [count, length] }) }),
    };
  };
}
