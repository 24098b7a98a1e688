/** Runs in notebooks. */
import { chartBundle } from "../../charts/display.ts";
import type { MimeBundle } from "../../charts/display_symbol.ts";
import { formatMeasure, measureName } from "./measure_names.ts";
import type { EpochMetrics } from "./epoch_metrics.ts";
import { parts, trainingCharts } from "./training_charts.ts";

/**
 * The curves of a run. The text is the measures of the last epoch.
 *
 * @param name Name of the run in the text.
 * @param choice The metric and the best epoch, as in {@linkcode trainingCharts}.
 */
export function displayRun(
  metrics: readonly EpochMetrics[],
  name: string,
  choice?: Parameters<typeof trainingCharts>[1],
): MimeBundle {
  const last = metrics.at(-1);
  if (!last) return { "text/plain": `${name}: no epoch has ended` };
  const shown = parts.flatMap(([part, label]) =>
    Object.entries(last[part]).map(([measure, value]) =>
      `${label} ${measureName(measure)} ${formatMeasure(measure, value)}`
    )
  );
  const text = `${name}, epoch ${last.epoch}: ${shown.join(", ")}`;
  return { ...chartBundle(trainingCharts(metrics, choice)), "text/plain": text };
}
