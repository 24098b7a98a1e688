import type { ForecastFigure } from "../forecast_figure.ts";

/**
 * Draws a series and its predictions from the end of the context on.
 *
 * @param title What a series is called, its number follows.
 * @param channels The channels' names.
 * @param scale What values are multiplied with, for all channels or each, and what is added to each.
 */
export function drawContinuation(
  title: string,
  channels: readonly string[],
  context: number,
  scale: number | readonly { readonly deviation: number; readonly mean: number }[] = 1,
): (truth: Float32Array, predicted: Float32Array, position: number) => ForecastFigure {
  const width = channels.length;
  const of = (channel: number) => typeof scale === "number" ? { deviation: scale, mean: 0 } : scale[channel];
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
        const { deviation, mean } = of(channel);
        return {
          name,
          truth: Float64Array.from({ length }, (_, t) => truth[t * width + channel] * deviation + mean),
          predicted: after(channel).map((value) => value * deviation + mean),
          ...(outputs > width ? { deviation: after(width + channel).map((value) => value * deviation) } : {}),
        };
      }),
    };
  };
}
