/** Rules that end training before its last epoch. */
import type { EpochMetrics } from "./report/epoch_metrics.ts";

/** A measure that must keep improving. */
export interface WatchedMeasure {
  /** Part of the data. */
  readonly part: "train" | "validation";
  /** Name of the measure, such as `"loss"`. */
  readonly measure: string;
  /** Whether smaller or larger values are better. */
  readonly mode: "min" | "max";
  /** Minimum relative change of an improvement, from 0 to below 1. */
  readonly threshold: number;
}

/** Rule to stop training when any of its measures stops improving (Kidger et al., 2020, appendix D). */
export interface StopRule {
  /** Number of epochs without improvement that are tolerated. */
  readonly after: number;
  /** Measures that must all keep improving. */
  readonly unless: readonly WatchedMeasure[];
}

/**
 * Finds a measure that has stopped improving. It depends only on the metrics, so that a resumed run stops at
 * the same epoch.
 */
export function stagnated(
  metrics: readonly EpochMetrics[],
  { after, unless }: StopRule,
): WatchedMeasure | undefined {
  return unless.find(({ part, measure, mode, threshold }) => {
    let [best, at] = [NaN, 0];
    metrics.forEach((epoch, i) => {
      const value = epoch[part][measure];
      const isBetter = mode === "min"
        ? value < best - threshold * Math.abs(best)
        : value > best + threshold * Math.abs(best);
      if (i === 0 || isBetter) [best, at] = [value, i];
    });
    return metrics.length - 1 - at > after;
  });
}
