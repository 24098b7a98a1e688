/** The forecast of the playground: curves made from a seed, and the future of a drawn curve. */
import { normalPair, unitPair } from "../src/data/host_random.ts";
import type { Series, SeriesSet } from "../src/data/series.ts";
import type { Predictor } from "../src/series/run/predictor.ts";
import type { ForecastPrediction } from "../src/series/record/predictions.ts";
import { key, splitKey } from "../src/tensor/random.ts";
import type { DataInfo, Forecast, View } from "./messages.ts";

/** Name of the data, the number of observations that a curve shows, and the number of steps of its forecast. */
export const [futureName, pastSteps, futureSteps] = ["future", 32, 16] as const;

/** Model and settings of the forecast. */
export const futureModel = { model: "autoregression", horizon: futureSteps, context: pastSteps } as const;

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

/** Description of the data. */
export function futureInfo({ name, channels, series }: SeriesSet): DataInfo {
  return {
    ...{ name, channels: channels.map((name) => ({ name, low: -2, high: 2 })) },
    series: series.map(({ name }) => ({ name, label: "a season and a trend" })),
    ...{ classes: [], lines: [], gap: 1, notices: [], futureSteps, trained: { model: futureModel.model } },
  };
}

/** View of the shown part of a curve. */
export function futureView({ name, times, values }: Series): View {
  return {
    ...{ name, timeKind: "number", times: [...times], observed: [[...values]] },
    ...{ curveTimes: [], curve: [], kind: "", states: [], matrices: [], probabilities: [] },
  };
}

/** Forecasts a curve. Undefined if it has too few observations. */
export async function forecastOf(
  model: Predictor<ForecastPrediction>,
  { times, values }: Pick<Series, "times" | "values">,
): Promise<Forecast | undefined> {
  if (times.length < fewest) return undefined;
  const rows = Array.from(times, (time, i) => ({ series: "drawn", time, [channel]: values[i] }));
  const [{ times: future, channels }] = await model.predict({ name: "drawn", rows });
  const { mean, quantiles } = channels[channel];
  return { times: future.map(Number), mean, low: quantiles["0.1"], high: quantiles["0.9"] };
}
