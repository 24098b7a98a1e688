/** Predictions that are not numbers, as errors of the data. */
import { listed } from "../../data/format.ts";
import { DataError } from "../../device/errors.ts";
import { DivergenceError, NoProgressError } from "../../solvers/divergence.ts";

/**
 * Awaits the outputs of a model for some series. If the solve fails because of the values of the series, it
 * is reported as an error of the data.
 *
 * @throws {DataError} If states diverge, or an adaptive method does not reach the end.
 */
export async function predicting<T>(series: readonly string[], outputs: Promise<T>): Promise<T> {
  try {
    return await outputs;
  } catch (error) {
    if (!(error instanceof DivergenceError || error instanceof NoProgressError)) throw error;
    throw new DataError(
      "no-prediction",
      `series ${
        listed(series)
      }: the model's prediction is not a number; some values or times are far outside the range that the ` +
        "model learned from",
      { cause: error },
    );
  }
}
