/** Fit of the linear model of summaries, whose outputs are added to those of a network. */
import type { Series } from "../../data/series.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import { fitScreenedRidge, type LinearModel, linearOutputs } from "../math/screened_ridge.ts";
import { featuresOfSeries } from "../record/running_summary.ts";
import type { DataRecord } from "../record/data_record.ts";
import { scaledValue } from "../record/scaled_values.ts";
import { fitTemperature } from "./temperature.ts";

/** Maximum number of series of a fit. */
const maxSeries = 2000;
/** Number of folds that choose the powers. */
const folds = 5;
/** Powers of the correlations to choose from. */
const powers = [0, 2];
/**
 * Largest squared error outside the folds of a useful fit, as a fraction of that of the mean. With few series, the
 * error is too noisy for a smaller difference to decide.
 */
const usefulShare = 0.9;

/**
 * Fits a linear model of the summaries of series to their targets. For classes, its outputs are scores before the
 * softmax.
 *
 * @param isBinary Whether two classes have a single output: the logit of the second class.
 * @returns Undefined if the predictions for the series outside the folds are hardly better than the mean.
 */
export function fitSummary(
  series: readonly Series[],
  record: Pick<DataRecord, "channels" | "time" | "classes" | "targets">,
  isBinary: boolean,
): LinearModel | undefined {
  const { classes, targets } = record;
  const some = selectEvenly(series, maxSeries).filter((one) =>
    !targets || targets.some((_, k) => !Number.isNaN(one.targets?.[k] ?? NaN))
  );
  const groups = [...new Set(some.map(({ name, group = name }) => group))];
  // Series of a group stay in one fold.
  const rows = some.map((one): Row => ({
    features: featuresOfSeries(one, record),
    fold: groups.indexOf(one.group ?? one.name) % folds,
  }));
  if (!targets) {
    const labels = some.map(({ label }) => label);
    const places = isBinary ? [1] : Array.from(classes.keys());
    const fit = chosenFit(
      rows,
      Float64Array.from(labels.flatMap((label) => places.map((k) => label === k ? 1 : -1))),
    );
    if (!fit) return undefined;
    const scores = fit.outside.map((outputs) => isBinary ? [0, outputs[0]] : outputs);
    return scaledBy(1 / fitTemperature(scores, labels), fit.linear);
  }
  const fits = targets.map((target, k) => {
    const known = Array.from(some.keys()).filter((i) => !Number.isNaN(some[i].targets![k]));
    return chosenFit(
      known.map((i) => rows[i]),
      Float64Array.from(known, (i) => scaledValue(some[i].targets![k], target)),
    )?.linear;
  });
  return fits.some((fit) => fit) ? joined(fits) : undefined;
}

/** Features of a series, and its fold. */
interface Row {
  readonly features: readonly number[];
  readonly fold: number;
}

/** The fit with the best power, and its predictions for each series by the fit to the other folds. */
function chosenFit(rows: readonly Row[], targets: Float64Array) {
  if (new Set(rows.map(({ fold }) => fold)).size < folds) return undefined;
  const outputs = targets.length / rows.length;
  const targetsOf = (places: readonly number[]) =>
    Float64Array.from(places.flatMap((i) => Array.from(targets.subarray(i * outputs, (i + 1) * outputs))));
  const predictedOutside = (fit: (places: readonly number[]) => LinearModel) => {
    const outside: number[][] = [];
    for (let fold = 0; fold < folds; fold++) {
      const linear = fit(Array.from(rows.keys()).filter((i) => rows[i].fold !== fold));
      rows.forEach((row, i) => {
        if (row.fold === fold) outside[i] = linearOutputs(linear, row.features);
      });
    }
    const error = outside.flat().reduce((sum, output, i) => sum + (output - targets[i]) ** 2, 0);
    return { outside, error };
  };
  const found = powers.map((power) => {
    const fit = (places: readonly number[]) =>
      fitScreenedRidge(places.map((i) => rows[i].features), targetsOf(places), power);
    return { ...predictedOutside(fit), linear: () => fit(Array.from(rows.keys())) };
  });
  const best = found.reduce((a, b) => b.error < a.error ? b : a);
  const ofMean = predictedOutside((places) => ({
    ...{ places: [], mean: [], weight: [] },
    bias: Array.from({ length: outputs }, (_, k) => {
      const known = targetsOf(places).filter((_, i) => i % outputs === k);
      return known.reduce((sum, value) => sum + value, 0) / known.length;
    }),
  })).error;
  return best.error < usefulShare * ofMean ? { outside: best.outside, linear: best.linear() } : undefined;
}

function scaledBy(factor: number, { weight, bias, ...linear }: LinearModel): LinearModel {
  return { ...linear, weight: weight.map((one) => one * factor), bias: bias.map((one) => one * factor) };
}

/** Joins linear models with one output each. A target without a model has the output 0. */
function joined(fits: readonly (LinearModel | undefined)[]): LinearModel {
  const means = new Map(
    fits.flatMap((fit) => fit?.places.map((place, f) => [place, fit.mean[f]] as const) ?? []),
  );
  const places = [...means.keys()];
  const weightOf = (fit: LinearModel | undefined, place: number) =>
    fit?.weight[fit.places.indexOf(place)] ?? 0;
  return {
    places,
    mean: [...means.values()],
    weight: places.flatMap((place) => fits.map((fit) => weightOf(fit, place))),
    bias: fits.map((fit) =>
      fit
        ? fit.places.reduce(
          (sum, place, f) => sum + fit.weight[f] * (means.get(place)! - fit.mean[f]),
          fit.bias[0],
        )
        : 0
    ),
  };
}
