/** Choice of the penalties of a screened ridge regression by cross-validation. */
import { type LinearModel, linearOutputs } from "./linear_model.ts";
import { fitScreenedRidge } from "./screened_ridge.ts";

/** Powers of the correlations to choose from. */
const powers = [0, 2];

/** Rows to learn from. */
interface RidgeRows {
  /** Features of each row. */
  readonly features: readonly ArrayLike<number>[];
  /** Targets `(rows, outputs)`, without NaN. */
  readonly targets: Float64Array;
  /** Fold of each row, from 0. */
  readonly folds: ArrayLike<number>;
}

/** A linear model with the power of the smallest error. */
interface ChosenRidge {
  /** The model that is fitted to all rows. */
  readonly linear: LinearModel;
  /** Outputs for each row of the model that is fitted to the other folds. */
  readonly leftOut: readonly number[][];
  /** Squared error of these outputs, as a fraction of that of the means of the other folds. */
  readonly share: number;
}

/**
 * Fits a ridge regression with the power that has the smallest squared error in cross-validation.
 *
 * @returns Undefined with fewer than two folds.
 */
export function chooseRidge({ features, targets, folds }: RidgeRows): ChosenRidge | undefined {
  const all = Array.from(features.keys());
  const parts = Map.groupBy(all, (row) => folds[row]).values().toArray();
  if (parts.length < 2) return undefined;
  const outputs = targets.length / features.length;
  const targetsOf = (rows: readonly number[]) =>
    Float64Array.from(
      rows.flatMap((row) => Array.from(targets.subarray(row * outputs, (row + 1) * outputs))),
    );
  const predictedOutside = (fit: (rows: readonly number[]) => LinearModel) => {
    const leftOut: number[][] = [];
    for (const part of parts) {
      const inPart = new Set(part);
      const linear = fit(all.filter((row) => !inPart.has(row)));
      for (const row of part) leftOut[row] = linearOutputs(linear, features[row]);
    }
    const error = leftOut.flat().reduce((sum, output, i) => sum + (output - targets[i]) ** 2, 0);
    return { leftOut, error };
  };
  const candidates = powers.map((power) => {
    const fit = (rows: readonly number[]) =>
      fitScreenedRidge(rows.map((row) => features[row]), targetsOf(rows), power);
    return { ...predictedOutside(fit), fit };
  });
  const best = candidates.reduce((a, b) => b.error < a.error ? b : a);
  const ofMean = predictedOutside((rows) => {
    const rowTargets = targetsOf(rows);
    const bias = Array.from(
      { length: outputs },
      (_, k) => rows.reduce((sum, _, i) => sum + rowTargets[i * outputs + k], 0) / rows.length,
    );
    return { places: [], mean: [], weight: [], bias };
  });
  return { linear: best.fit(all), leftOut: best.leftOut, share: best.error / ofMean.error };
}
