/** Comparison of a forecaster with the seasonal naive forecast, in a sentence. */
import type { Evaluation } from "../../train/task.ts";

/** Names of the baselines: the mean of the past, the last value, and the season before. */
export const [pastMean, lastValue, seasonBefore] = [
  "the mean of the past",
  "the last value",
  "the season before",
] as const;

/** Names of the baselines as forecasts. */
const forecastNames: Readonly<Record<string, string>> = {
  [pastMean]: "mean",
  [lastValue]: "naive",
  [seasonBefore]: "seasonal naive",
};

/**
 * Says whether forecasts are better than the seasonal naive forecast (the naive forecast without a season), by
 * MASE; or than another baseline, if that one is better than the forecasts. Undefined if one of the two has no MASE.
 *
 * @param measures Measures of the forecasts by name.
 * @param baselines Measures of each baseline by its name.
 * @param model Name of the model: a naive forecast is not compared with itself.
 */
export function forecastVerdict(
  measures: Evaluation["measures"],
  baselines: Evaluation["baselines"],
  model?: string,
): string | undefined {
  const usual = baselines[seasonBefore] ? seasonBefore : lastValue;
  const { mase } = measures;
  const itself = model === "naive" ? lastValue : model === "seasonal-naive" ? usual : undefined;
  const better = Object.keys(baselines).filter((name) => baselines[name].mase < mase && name !== itself)
    .toSorted((a, b) => baselines[a].mase - baselines[b].mase);
  const rival = better[0] ?? usual;
  const naive = baselines[rival]?.mase;
  if (!Number.isFinite(mase) || !Number.isFinite(naive)) return undefined;
  const name = forecastNames[rival] ?? rival;
  if (rival === itself) {
    return `The model is the ${name} forecast (MASE ${mase.toFixed(2)}).`;
  }
  return `${mase < naive ? "Better" : "No better"} than the ${name} forecast (MASE ${
    mase.toFixed(2)
  }, ${name} ${naive.toFixed(2)}).`;
}
