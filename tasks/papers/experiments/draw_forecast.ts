import type { ChannelStatistics } from "@weft/weft/data";
import type { Chart, Mark, Section } from "@weft/weft/train";
import type { ForecastExample } from "./forecasting.ts";

/**
 * Draws series and their predictions after the context.
 *
 * @param title Title of each chart. The position of the series is appended.
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
): (examples: readonly ForecastExample[]) => Section {
  const width = channels.length;
  const chartOf = ({ truth, predicted, position }: ForecastExample): Chart => {
    const length = truth.length / width;
    const outputs = predicted.length / length;
    const observedSteps = Array.from({ length }, (_, step) => step);
    const steps = observedSteps.slice(context);
    return {
      title: `${title} ${position}`,
      panels: channels.map((name, channel) => {
        const { mean, standardDeviation } = statistics?.[channel] ?? { mean: 0, standardDeviation: 1 };
        /** A column of the predictions: row t - 1 predicts step t. */
        const column = (place: number) =>
          steps.map((step) => predicted[(step - 1) * outputs + place] * standardDeviation);
        const means = column(channel).map((value) => value + mean);
        const deviations = outputs > width ? column(width + channel) : undefined;
        const marks: Mark[] = [
          {
            kind: "line",
            name: "observed",
            x: observedSteps,
            y: observedSteps.map((step) => truth[step * width + channel] * standardDeviation + mean),
          },
          { kind: "line", name: "predicted", x: steps, y: means, style: "dashed" },
        ];
        if (deviations) {
          marks.push({
            ...{ kind: "band", of: "predicted", name: "± 2 standard deviations", x: steps },
            low: means.map((value, i) => value - 2 * deviations[i]),
            high: means.map((value, i) => value + 2 * deviations[i]),
          });
        }
        if (context > 1) marks.push({ kind: "region", name: "read by the model", from: 0, to: context - 1 });
        return { x: { title: "step" }, y: { title: name }, marks };
      }),
    };
  };
  return (examples) => ({
    ...{ kind: "charts", title: "Test series and their forecasts" },
    charts: examples.map(chartOf),
  });
}
