/** Forecasts in the playground: curves made from a seed, models, and the future of a series. */
import { timeOf } from "../src/data/format.ts";
import { normalPair, unitPair } from "../src/data/host_random.ts";
import type { Series, SeriesSet } from "../src/data/series.ts";
import type { Predictor } from "../src/series/run/predictor.ts";
import type { ForecastPrediction } from "../src/series/record/predictions.ts";
import { key, splitKey } from "../src/tensor/random.ts";
import type { Forecast, View } from "./messages.ts";

/** Name of the curves, and the number of steps of their forecast. */
export const [futureName, futureSteps] = ["future", 16] as const;

/** Names and texts of the models that forecast. Those in closed form are fitted in one epoch, without settings. */
export const futureModels = [
  ["autoregression", "autoregression"],
  ["exponential-smoothing", "exponential smoothing"],
  ["neural-cde", "Neural CDE"],
  ["delta-cde", "fast weights"],
] as const;

/** Whether a model that forecasts is fitted in closed form. */
export const isClosedForm = (model: string) => !model.endsWith("-cde");

/** Number of observations before a forecast that the page shows. */
export const pastSteps = (steps: number) => 2 * steps;

/** Fewest observations that have a forecast. */
const fewest = 4;
const channel = "value";
const turn = 2 * Math.PI;

/** Seasons of different lengths on a trend, with noise. */
export function futureSet(): SeriesSet {
  const series = splitKey(key(0), 40).map((key, i): Series => {
    const uniform = (place: number) => unitPair(key, place)[0];
    const [period, phase, trend] = [8 + 14 * uniform(0), turn * uniform(1), 0.016 * (uniform(2) - 0.5)];
    const [size, second, shift] = [0.4 + 0.5 * uniform(3), 0.35 * uniform(4), turn * uniform(5)];
    const valueAt = (t: number) => {
      const angle = phase + turn * t / period;
      const season = size * (Math.sin(angle) + second * Math.sin(2 * angle + shift));
      return season + trend * (t - 60) + 0.05 * normalPair(key, 100 + t)[0];
    };
    const times = Float64Array.from({ length: 120 }, (_, t) => t);
    return { name: `${i + 1}`, times, values: times.map(valueAt), label: -1 };
  });
  return { name: futureName, channels: [channel], times: "number", classes: [], series };
}

/** View of the last observations of a series. */
export function pastView(
  { name, times, values }: Series,
  { channels, times: timeKind }: SeriesNames,
  steps: number,
): View {
  const from = Math.max(0, times.length - pastSteps(steps));
  const observed = channels.map((_, c) =>
    Array.from(times.slice(from), (_, t) => values[(from + t) * channels.length + c])
  );
  return {
    ...{ name, timeKind, times: [...times.slice(from)], observed },
    ...{ curveTimes: [], curve: [], kind: "", states: [], matrices: [], probabilities: [] },
  };
}

/** Names of the channels, and the notation of the times. */
type SeriesNames = Pick<SeriesSet, "channels" | "times">;

/** Forecasts each channel after the last observations of a series. Undefined if it has too few observations. */
export async function forecastsOf(
  model: Predictor<ForecastPrediction>,
  { channels, times }: SeriesNames,
  past: Series,
): Promise<Forecast[] | undefined> {
  if (past.times.length < fewest) return undefined;
  const [found] = await model.predict({ name: "past", channels, times, classes: [], series: [past] });
  const future = found.times.map((time) => typeof time === "number" ? time : timeOf(time, times));
  return channels.map((name) => {
    const { mean = [], quantiles = {} } = found.channels[name] ?? {};
    // A channel without errors has no quantiles.
    return { times: future, mean, low: quantiles["0.1"] ?? mean, high: quantiles["0.9"] ?? mean };
  });
}
