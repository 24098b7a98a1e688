/** Comparison of a forecaster with the seasonal naive forecast, in a sentence. */
import type { Evaluation } from "../../train/task.ts";

/** Names of the baselines: the season before, and without a season the last value. */
export const [lastValue, seasonBefore] = ["the last value", "the season before"] as const;

/**
 * Says whether forecasts are better than the seasonal naive forecast (the naive forecast without a season), by
 * MASE. Undefined if one of the two has no MASE.
 *
 * @param measures Measures of the forecasts by name.
 * @param baselines Measures of each baseline by its name.
 */
export function forecastVerdict(
  measures: Evaluation["measures"],
  baselines: Evaluation["baselines"],
): string | undefined {
  const name = baselines[seasonBefore] ? "seasonal naive" : "naive";
  const naive = (baselines[seasonBefore] ?? baselines[lastValue])?.mase;
  const { mase } = measures;
  if (!Number.isFinite(mase) || !Number.isFinite(naive)) return undefined;
  return `${mase < naive ? "Better" : "No better"} than the ${name} forecast (MASE ${
    mase.toFixed(2)
  }, ${name} ${naive.toFixed(2)}).`;
}
