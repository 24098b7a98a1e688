import type { ChannelStatistics } from "../../../src/data/series.ts";
import type { ForecastFigure } from "../../../src/train/forecast_figure.ts";

/**
 * Plots a series, and its predictions after the context.
 *
 * @param title Title of the figure. The index of the series is appended.
 * @param channels Names of the channels.
 * @param context Number of observed values that the model reads.
 * @param statistics Mean and standard deviation of the scaling of each channel. If undefined, values are
 * plotted unscaled.
 */
export function drawForecast(
  title: string,
  channels: readonly string[],
  context: number,
  statistics?: readonly ChannelStatistics[],
): (truth: Float32Array, predicted: Float32Array, position: number) => ForecastFigure {
  const width = channels.length;
  return (truth, predicted, position) => {
    const length = truth.length / width;
    const outputs = predicted.length / length;
    /** A column of the predictions after the context: row t - 1 predicts step t. */
    const after = (column: number) =>
      Float64Array.from({ length }, (_, t) => t < context ? NaN : predicted[(t - 1) * outputs + column]);
    return {
      title: `${title} ${position}`,
      context,
      channels: channels.map((name, channel) => {
        const { mean, standardDeviation } = statistics?.[channel] ?? { mean: 0, standardDeviation: 1 };
        return {
          name,
          truth: Float64Array.from(
            { length },
            (_, t) => truth[t * width + channel] * standardDeviation + mean,
          ),
          predicted: after(channel).map((value) => value * standardDeviation + mean),
          ...(outputs > width
            ? { deviation: after(width + channel).map((value) => value * standardDeviation) }
            : {}),
        };
      }),
    };
  };
}
