import type { ChannelStatistics } from "../../../src/data/series.ts";
import type { ForecastFigure } from "../../../src/train/forecast_figure.ts";

/**
 * Draws a series and its predictions from the end of the context on.
 *
 * @param title Title of a figure, which the series' number follows.
 * @param channels Names of the channels.
 * @param context Number of observations that the model was given.
 * @param statistics Mean and standard deviation that each channel was scaled by; without them values are drawn as they are.
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
    /** A column of the predictions where they count: row t - 1 is about step t. */
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
