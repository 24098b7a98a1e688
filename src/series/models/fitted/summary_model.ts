/** A linear model of summaries as a model, with the features of the linear model beside networks. */
import type { Series } from "../../../data/series.ts";
import { chooseRidge } from "../../math/choose_ridge.ts";
import type { DataRecord } from "../../record/data_record.ts";
import { featuresOfSeries } from "../../record/running_summary.ts";
import { foldsOfSeries } from "../../read/split_series.ts";
import { linearOfFeatures } from "../linear_of_features.ts";
import type { FittedModelKind } from "../series_network.ts";

/** Number of folds that choose the powers of the correlations. */
const foldCount = 5;

/** A ridge regression on the summaries of `featuresOfSeries` that correlate with the targets. */
export const summaryNetwork: FittedModelKind["network"] = ({ record, settings }, outputs) => {
  const featuresOf = (series: Series) => Float32Array.from(featuresOfSeries(series, record));
  const count = featureCount(record);
  const { parameters, network, store } = linearOfFeatures({ count, outputs, featuresOf });
  return {
    ...network,
    parameters,
    regularised: parameters,
    fit(series, targets) {
      const features = series.map(featuresOf);
      const folds = foldsOfSeries(series, foldCount, settings.seed);
      const fitted = {
        mean: new Float64Array(count),
        scale: new Float64Array(count).fill(1),
        weight: new Float64Array(count * outputs),
        bias: new Float64Array(outputs),
        leftOut: new Float64Array(targets.length),
      };
      // All classes share one fit. Each numeric target has a fit to the series with a value of the target.
      const columns = Array.from({ length: outputs }, (_, k) => k);
      for (const group of record.targets ? columns.map((k) => [k]) : [columns]) {
        const labelled = [...series.keys()].filter((i) => !Number.isNaN(targets[i * outputs + group[0]]));
        const choice = chooseRidge({
          features: labelled.map((i) => features[i]),
          targets: Float64Array.from(labelled.flatMap((i) => group.map((k) => targets[i * outputs + k]))),
          folds: labelled.map((i) => folds[i]),
        });
        if (!choice) continue;
        const { linear: { places: read, mean, weight, bias }, leftOut } = choice;
        group.forEach((k, c) => {
          fitted.bias[k] = bias[c];
          read.forEach((feature, f) => {
            const one = fitted.weight[feature * outputs + k] = weight[f * group.length + c];
            fitted.bias[k] -= one * mean[f];
          });
          labelled.forEach((i, row) => fitted.leftOut[i * outputs + k] = leftOut[row][c]);
        });
      }
      store(fitted);
      return Promise.resolve(fitted.leftOut);
    },
  };
};

/** Number of the features of a series with the channels of a record. */
function featureCount(record: Pick<DataRecord, "channels" | "time">): number {
  const values = new Float64Array(record.channels.length).fill(NaN);
  return featuresOfSeries({ times: Float64Array.of(0), values }, record).length;
}
