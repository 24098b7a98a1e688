/** Fit of the linear model of summaries, whose outputs are added to those of a network. */
import type { Series } from "../../data/series.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import { chooseRidge } from "../math/choose_ridge.ts";
import type { LinearModel } from "../math/linear_model.ts";
import { foldsOfSeries } from "../read/split_series.ts";
import { featuresOfSeries } from "../record/running_summary.ts";
import type { DataRecord } from "../record/data_record.ts";
import { scaledValue } from "../record/scaled_values.ts";
import { fitTemperature } from "../math/temperature.ts";

/** Maximum number of series of a fit. */
const maxSeries = 2000;
/** Number of folds that choose the powers. */
const folds = 5;
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
  const features = some.map((one) => featuresOfSeries(one, record));
  const inFolds = foldsOfSeries(some, folds, 0);
  const usefulFit = (indices: readonly number[], targets: Float64Array) => {
    if (new Set(indices.map((i) => inFolds[i])).size < folds) return undefined;
    const fit = chooseRidge({
      targets,
      features: indices.map((i) => features[i]),
      folds: indices.map((i) => inFolds[i]),
    });
    return fit && fit.share < usefulShare ? fit : undefined;
  };
  if (!targets) {
    const labels = some.map(({ label }) => label);
    const outputClasses = isBinary ? [1] : Array.from(classes.keys());
    const fit = usefulFit(
      [...some.keys()],
      Float64Array.from(labels.flatMap((label) => outputClasses.map((k) => label === k ? 1 : -1))),
    );
    if (!fit) return undefined;
    const scores = fit.leftOut.map((outputs) => isBinary ? [0, outputs[0]] : outputs);
    return scaledBy(1 / fitTemperature(scores, labels), fit.linear);
  }
  const fits = targets.map((target, k) => {
    const labelled = Array.from(some.keys()).filter((i) => !Number.isNaN(some[i].targets![k]));
    return usefulFit(
      labelled,
      Float64Array.from(labelled, (i) => scaledValue(some[i].targets![k], target)),
    )?.linear;
  });
  return fits.some((fit) => fit) ? joined(fits) : undefined;
}

function scaledBy(factor: number, { weight, bias, ...linear }: LinearModel): LinearModel {
  return { ...linear, weight: weight.map((one) => one * factor), bias: bias.map((one) => one * factor) };
}

/** Joins linear models with one output each. A target without a model has the output 0. */
function joined(fits: readonly (LinearModel | undefined)[]): LinearModel {
  const means = new Map(
    fits.flatMap((fit) => fit?.places.map((feature, f) => [feature, fit.mean[f]] as const) ?? []),
  );
  const places = [...means.keys()];
  const weightOf = (fit: LinearModel | undefined, feature: number) =>
    fit?.weight[fit.places.indexOf(feature)] ?? 0;
  return {
    places,
    mean: [...means.values()],
    weight: places.flatMap((feature) => fits.map((fit) => weightOf(fit, feature))),
    bias: fits.map((fit) =>
      fit
        ? fit.places.reduce(
          (sum, feature, f) => sum + fit.weight[f] * (means.get(feature)! - fit.mean[f]),
          fit.bias[0],
        )
        : 0
    ),
  };
}
