import { meanAbsoluteError, meanSquaredError, type Tensor, tidy } from "@weft/weft";
import type { Evaluation } from "@weft/weft/train";

/** Options of {@linkcode measureForecastBaselines}. */
interface ForecastBaselineOptions {
  /** Training series, `(batch, length, channels)`. */
  train: Tensor;
  /** Test series, `(batch, length, channels)`. */
  test: Tensor;
  /** First predicted step for each squared error, by metric name. */
  squaredErrors: Readonly<Record<string, number>>;
  /** First predicted step for the absolute error. */
  start: number;
  /**
   * Series that the model reads, if they differ from the test series, `(batch, length, channels)`. They are
   * then a forecast of their own.
   */
  inputs?: Tensor;
  /**
   * Standard deviation of the forecasts, for bits per dimension of each squared error whose name begins with
   * `mse`. Without it there are none.
   */
  deviation?: number;
  /** Whether zero is a forecast, for values that decay to zero. */
  isZeroForecast?: boolean;
  /** Whether the step before the first predicted step is observed, so that its value can be repeated. */
  isLastGiven: boolean;
}

/**
 * Test errors of forecasts without a model: the mean of the training series, the last observed value, zero,
 * and the series that the model reads.
 */
export async function measureForecastBaselines(
  { train, test, squaredErrors, start, inputs, deviation, isZeroForecast, isLastGiven }:
    ForecastBaselineOptions,
): Promise<Evaluation["baselines"]> {
  const measure = async (predict: (from: number) => Tensor) => {
    const error = (from: number, errorOf: (predicted: Tensor, targets: Tensor) => Tensor) =>
      tidy(() => {
        const targets = test.slice(1, from);
        return errorOf(predict(from).broadcastTo(targets.shape), targets);
      }).item();
    const measures: Record<string, number> = {};
    for (const [name, from] of Object.entries(squaredErrors)) {
      measures[name] = await error(from, meanSquaredError);
      if (deviation && name.startsWith("mse")) {
        measures[name.replace("mse", "bpd")] = bitsOf(measures[name], deviation);
      }
      if (inputs) measures["half mse"] = measures[name] / 2;
    }
    return { ...measures, mae: await error(start, meanAbsoluteError) };
  };
  return {
    "the mean of the training series": await measure((from) => train.mean(0).slice(0, from)),
    ...(isZeroForecast ? { "zero": await measure((from) => test.slice(1, from).zerosLike()) } : {}),
    ...(inputs ? { "the input": await measure((from) => inputs.slice(1, from)) } : {}),
    ...(isLastGiven ? { "the last value": await measure((from) => test.slice(1, from - 1, from)) } : {}),
  };
}

/** Bits per dimension of normal distributions with a squared error of their means and a standard deviation. */
function bitsOf(mse: number, deviation: number): number {
  return (Math.log(2 * Math.PI * deviation ** 2) + mse / deviation ** 2) / 2 / Math.LN2;
}
