/** Results of training in notebooks. */
import { displayAs } from "../../charts/display_symbol.ts";
import type { EpochMetrics } from "./epoch_metrics.ts";

/** Adds the curves for notebooks to a result of training. */
export function displayResult<
  R extends {
    readonly metrics: readonly EpochMetrics[];
    readonly position: { readonly best: { readonly epoch: number } | null };
  },
>(result: R, { metric }: { readonly metric: { readonly name: string } }): R {
  const { metrics, position } = result;
  return displayAs(result, async () => {
    const { displayRun } = await import("./display_run.ts");
    return displayRun(metrics, "run", { metric, bestEpoch: position.best?.epoch });
  });
}
