/** Rules that end training before its last epoch. */
import type { EpochMetrics } from "./run_folder.ts";

/** A measure that must go on improving. */
export interface WatchedMeasure {
  /** Part of the data that it is measured on. */
  readonly part: "train" | "validation";
  /** Its name, as `"loss"`. */
  readonly measure: string;
  /** Whether small or large is good. */
  readonly mode: "min" | "max";
  /** The relative change that counts as an improvement, from 0 to below 1. */
  readonly threshold: number;
}

/** Ends training when one of some measures has not improved for so many epochs (Kidger et al., 2020, appendix D). */
export interface StopRule {
  /** Number of epochs without improvement that are let pass. */
  readonly after: number;
  /** Measures that all must go on improving. */
  readonly unless: readonly WatchedMeasure[];
}

/** The measure that has stagnated too long, if any: it depends on the epochs alone, so that a resumed training ends alike. */
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
