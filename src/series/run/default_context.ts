/** Number of past steps that forecasts read by default. */

/** Maximum default number of past steps. With more, thousands of windows would need gigabytes. */
const maxContext = 1024;

/**
 * Default number of past steps: the horizon or two seasons, whichever is longer, if the training period is
 * long enough.
 */
export function defaultContext(rows: number, horizon: number, season: number): number {
  return Math.max(2, Math.min(Math.max(horizon, 2 * season), rows - horizon, maxContext));
}
