/** Minimum width of the intervals of forecasts. */
import { levels } from "./error_quantiles.ts";
import type { ForecastWindow } from "../read/forecast_windows.ts";

/** Minimum width of an 80 % interval, as a fraction of the mean change from step to step. */
const leastShare = 0.01;

/**
 * Minimum width of an 80 % interval: a fraction of the mean absolute change of a channel from step to step. A model
 * that has fitted its series exactly has no errors to learn from, but its forecasts are not certain. 0 for a constant
 * past.
 */
export function leastWidthOf({ grid }: Pick<ForecastWindow, "grid">, channel: number, width: number): number {
  let [sum, count] = [0, 0];
  for (let at = channel + width; at < grid.length; at += width) {
    const change = Math.abs(grid[at] - grid[at - width]);
    if (change > 0) [sum, count] = [sum + change, count + 1];
  }
  return count === 0 ? 0 : leastShare * sum / count;
}

/**
 * Widens the quantiles of the errors of a step around their median if the 80 % interval is narrower than a minimum.
 *
 * @param errors Quantiles at {@linkcode levels}, in the units of the data.
 */
export function withLeastWidth(errors: readonly number[], least: number): readonly number[] {
  const [low, high] = [errors[0], errors[errors.length - 1]];
  if (high - low >= least) return errors;
  const median = errors[(errors.length - 1) / 2];
  const range = levels[levels.length - 1] - levels[0];
  return levels.map((level) => median + least * (level - 0.5) / range);
}
