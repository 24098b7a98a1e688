/** Curves of a run. */
import type { Chart, Mark } from "../../charts/chart.ts";
import { isPercentMeasure, measureName, sortMeasures } from "./measure_names.ts";
import type { EpochMetrics } from "./epoch_metrics.ts";

/** Parts of the data in an epoch's metrics, with their names in charts. */
export const parts = [["train", "training"], ["validation", "validation"]] as const;

/** Whether there is a validation set. Without it, the last weights are the result of training. */
export function isValidated(metrics: readonly EpochMetrics[]): boolean {
  return metrics.some(({ validation }) => Object.keys(validation).length > 0);
}

/** Number of charts without a metric. */
const mostCharts = 3;

/**
 * A chart for each of some measures: training and validation over the epochs.
 *
 * @param metric The measure that decides which epoch is the best. The other charts are the loss and the
 * accuracy. Without a metric, the charts are the loss and the first measures.
 * @param bestEpoch The epoch that is marked.
 */
export function trainingCharts(
  metrics: readonly EpochMetrics[],
  { metric, bestEpoch }: { metric?: { readonly name: string }; bestEpoch?: number } = {},
): Chart[] {
  const measured = metrics.flatMap(({ train, validation }) => [train, validation].flatMap(Object.keys));
  const chosen = metric
    ? new Set([metric.name, "loss", "accuracy"].filter((name) => measured.includes(name)))
    : sortMeasures(measured, "loss").slice(0, mostCharts);
  return [...chosen].map((name): Chart => {
    const lines = parts.filter(([part]) => metrics.some((line) => name in line[part])).map((
      [part, label],
    ): Mark => ({
      ...{ kind: "line", name: label },
      x: metrics.map(({ epoch }) => epoch),
      y: metrics.map((line) => line[part][name] ?? NaN),
    }));
    const best = name === metric?.name && isValidated(metrics) &&
      metrics.find(({ epoch }) => epoch === bestEpoch);
    return {
      title: measureName(name),
      panels: [{
        x: { title: "epoch", isWhole: true },
        y: { title: measureName(name), isPercent: isPercentMeasure(name), scale: "auto" },
        marks: best
          ? [...lines, {
            kind: "points",
            name: "best epoch",
            isHollow: true,
            x: [best.epoch],
            y: [best.validation[name] ?? best.train[name]],
          }]
          : lines,
      }],
    };
  });
}
