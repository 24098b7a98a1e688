/** Display names of measures, and the format of their values. */
import { formatNumber, formatPercent } from "../../charts/format.ts";

/** A measure for people. */
interface MeasureName {
  readonly name: string;
  /** Whether the value is a fraction, shown as a percentage. */
  readonly isPercent?: boolean;
}

/** Every measure by its name in `summary.json`, in the order of reports. */
const measureNames: Readonly<Record<string, MeasureName>> = {
  accuracy: { name: "accuracy", isPercent: true },
  macroF1: { name: "macro F1" },
  auc: { name: "area under the ROC curve" },
  averagePrecision: { name: "average precision" },
  logLoss: { name: "log loss" },
  calibrationError: { name: "calibration error" },
  mse: { name: "mean squared error" },
  "scaled mse": { name: "squared error in variances" },
  "half mse": { name: "half the mean squared error" },
  mae: { name: "mean absolute error" },
  mape: { name: "mean absolute percentage error", isPercent: true },
  r2: { name: "R²" },
  mase: { name: "mean absolute scaled error" },
  crps: { name: "continuous ranked probability score" },
  coverage: { name: "coverage of the 80 % interval", isPercent: true },
  bpd: { name: "bits per dimension" },
  loss: { name: "loss" },
};

/** The part of a name that is a measure: `mse` of `age mse` and of `mse after 100`. */
function partsOf(name: string): { before: string; measure: string; after: string } {
  const words = name.split(" ");
  for (
    const [measure, before, after] of [
      [name, "", ""],
      [words.at(-1)!, words.slice(0, -1).join(" "), ""],
      [words[0], "", words.slice(1).join(" ")],
    ]
  ) {
    if (Object.hasOwn(measureNames, measure)) return { before, measure, after };
  }
  return { before: "", measure: name, after: "" };
}

/**
 * Display name of a measure: `log loss` for `logLoss`, `age: mean squared error` for `age mse`.
 * Other names stay as they are.
 */
export function measureName(name: string): string {
  const { before, measure, after } = partsOf(name);
  const displayed = measureNames[measure]?.name ?? measure;
  return `${before ? `${before}: ` : ""}${displayed}${after ? ` ${after}` : ""}`;
}

/** Whether the values of a measure are fractions, which are shown as percentages. */
export function isPercentMeasure(name: string): boolean {
  return measureNames[partsOf(name).measure]?.isPercent ?? false;
}

/**
 * Formats a measure with four significant digits, or as a percentage.
 *
 * @param name Name of the measure, such as `"loss"`.
 */
export function formatMeasure(name: string, value: number): string {
  // Rounding errors of float64 are shown as 0.
  const shown = Math.abs(value) < 1e-12 ? 0 : value;
  return isPercentMeasure(name) ? formatPercent(shown) : formatNumber(shown);
}

/**
 * Display names and formatted values of measures. Beside the log loss, which is measured after calibration,
 * the loss is named as the one before calibration.
 */
export function measuresInWords(
  measures: Readonly<Record<string, number>>,
): [name: string, value: string][] {
  return Object.entries(measures).map(([name, value]) => [
    name === "loss" && "logLoss" in measures ? "loss before calibration" : measureName(name),
    formatMeasure(name, value),
  ]);
}

/** Sorts names of measures for a report: the chosen one first, the others in the order of the table. */
export function sortMeasures(names: Iterable<string>, chosen?: string): string[] {
  const order = Object.keys(measureNames);
  const rank = (name: string) => {
    const index = order.indexOf(partsOf(name).measure);
    return name === chosen ? -1 : index < 0 ? order.length : index;
  };
  return [...new Set(names)].sort((a, b) => rank(a) - rank(b));
}
