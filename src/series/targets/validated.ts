/** The errors of a model in validation beside those in a test. */
import { formatMeasure, measureName } from "../../train/report/measure_names.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import { meanWithError, type Score } from "./score.ts";

/** A measure with its standard error. */
export type MeasuredMean = NonNullable<RecordedTraining["validated"]>;

/** Minimum difference of two measures that is more than chance, in standard errors. */
const clearErrors = 2;

/** The measure of a cross-validation: the accuracy of classes, or the squared error of numbers. */
export function validatedOf({ accuracy, errors }: Pick<Score, "accuracy" | "errors">): MeasuredMean {
  if (accuracy !== undefined) return accuracyWithError(accuracy, errors.length);
  const { mean, standardError } = meanWithError(errors);
  return { measure: "scaled mse", value: mean, standardError };
}

/**
 * An accuracy with its standard error, by two more correct and two more wrong series: that of ten correct series of ten is not
 * zero (Agresti and Coull, 1998).
 *
 * @param count Number of series.
 */
export function accuracyWithError(accuracy: number, count: number): MeasuredMean {
  const fraction = (accuracy * count + 2) / (count + 4);
  return {
    measure: "accuracy",
    value: accuracy,
    standardError: Math.sqrt(fraction * (1 - fraction) / (count + 4)),
  };
}

/** Describes a measure in validation beside the same measure in a test. Nothing without a measure in validation. */
export function besideValidation(
  validated: MeasuredMean | undefined,
  test: MeasuredMean,
): { text: string; warnings: string[] } {
  if (!validated || validated.measure !== test.measure) return { text: "", warnings: [] };
  const { measure } = validated;
  const shown = (value: number) => formatMeasure(measure, value);
  const name = measureName(measure);
  const text = ` In validation: ${name} ${shown(validated.value)}, here ${shown(test.value)}.`;
  const chance = Math.hypot(validated.standardError, test.standardError);
  const distance = Math.abs(test.value - validated.value);
  if (!(distance > clearErrors * chance)) return { text, warnings: [] };
  return {
    text,
    warnings: [
      `the ${name} is ${shown(test.value)} here and was ${shown(validated.value)} in validation: ${
        chance > 0
          ? `${(distance / chance).toFixed(1)} standard errors of the difference apart`
          : "they differ"
      }, more than by chance; the data may differ from those that the model was chosen on`,
    ],
  };
}
