import { meanAbsoluteError, meanSquaredError } from "../../../src/nn/losses.ts";
import { tidy } from "../../../src/tensor/scope.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import type { Evaluation } from "../../../src/train/task.ts";

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
  /** Whether the step before the first predicted step is observed, so that its value can be repeated. */
  isLastGiven: boolean;
}

/**
 * Test errors of two forecasts without a model: the mean of the training series, and the last observed value.
 */
export async function measureForecastBaselines(
  { train, test, squaredErrors, start, isLastGiven }: ForecastBaselineOptions,
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
    }
    return { ...measures, mae: await error(start, meanAbsoluteError) };
  };
  return {
    "the mean of the training series": await measure((from) => train.mean(0).slice(0, from)),
    ...(isLastGiven ? { "the last value": await measure((from) => test.slice(1, from - 1, from)) } : {}),
  };
}
