/** Boosted trees on summaries of series, as a kind of model for series. */
import type { Series } from "../../../data/series.ts";
import { tensor } from "../../../tensor/creation.ts";
import { type BoostedTrees, predictTrees } from "../../math/predict_trees.ts";
import type { ChosenTrees } from "../../math/choose_trees.ts";
import { balancedWeights, countLabels } from "../../math/class_counts.ts";
import { maxBins } from "../../math/feature_bins.ts";
import { finiteFloat32 } from "../../math/pack_trees.ts";
import { foldsOfSeries } from "../../read/split_series.ts";
import type { SeriesNetwork, SeriesNetworkOptions } from "../series_network.ts";
import { partsFor, summaryFeatures, summaryNames } from "./summary_features.ts";
import { storedTrees } from "./stored_trees.ts";

/** Maximum number of training series of a small table. */
const manySeries = 1000;

/** Settings for a number of training series. Cross-validation chooses the numbers of leaves and of trees. */
function settingsFor(series: number) {
  const { leaves, trees, ...settings } = series <= manySeries
    ? { leaves: [4, 16], trees: 200, learningRate: 0.05, leafRows: 5 }
    : { leaves: [8, 32], trees: 300, learningRate: 0.1, leafRows: 20 };
  return {
    ...settings,
    choices: { leaves, trees: [1, 2, 3, 4, 5, 6, 7, 8].map((part) => Math.round(part * trees / 8)) },
    sizes: { leaves: leaves[1], trees },
  };
}

/** Number of folds of this cross-validation. */
const foldCount = 3;
/** Share of the rows of each tree, and of its features. A tree has at least `leastFeatures` features. */
const [rowShare, columnShare, leastFeatures] = [0.5, 0.3, 10];
/** Rows of a bin, and the number of bins for few rows. */
const [rowsPerBin, leastBins] = [10, 16];

/** Gradient boosted trees on {@linkcode summaryFeatures}, for classes and numbers. */
export function treeNetwork(
  { record, settings }: SeriesNetworkOptions,
  outputs: number,
): Omit<SeriesNetwork, "members" | "memberOutputs"> {
  const { version, channels, split, targets: numbers, ranges } = record;
  // Models of records before version 4 have no features of equal parts.
  const parts = ranges && version >= 4 ? partsFor(ranges) : 0;
  const { sizes, choices, learningRate, leafRows } = settingsFor(split.train.length);
  // Two classes have one output.
  const fitted = numbers || outputs > 2 ? outputs : 1;
  const { parameters, store, load } = storedTrees(fitted, sizes);
  const { length: count } = summaryNames(channels, parts);
  let trees: BoostedTrees | undefined;
  /** Features of series that were read before. Reports and evaluations read the same series several times. */
  const featureCache = new WeakMap<Series, Float64Array>();
  const featuresOf = (series: Series): Float64Array => {
    const before = featureCache.get(series);
    if (before) return before;
    // The thresholds between features are stored in float32.
    const features = summaryFeatures(series, channels, parts).map(finiteFloat32);
    featureCache.set(series, features);
    return features;
  };
  const columnsOf = (series: readonly Series[]) => {
    const rows = series.map(featuresOf);
    return Array.from({ length: count }, (_, feature) => Float64Array.from(rows, (row) => row[feature]));
  };
  /** Logits of two classes add up to 0. */
  const outputsOf = (predictions: Float64Array) =>
    fitted === outputs
      ? predictions
      : Float64Array.from({ length: 2 * predictions.length }, (_, i) => (i % 2 - 0.5) * predictions[i >> 1]);
  const read = (series: readonly Series[]) => outputsOf(predictTrees(trees!, columnsOf(series)));
  return {
    parameters,
    regularised: parameters,
    // The inputs are the outputs of the trees, so each batch is converted when it is needed, after the fit.
    bytesOf: () => Infinity,
    inputs: (series) => ({
      coeffs: tensor(Float32Array.from(read(series)), { shape: [series.length, outputs] }),
      lengths: tensor(new Int32Array(series.length), { dtype: "int32" }),
    }),
    outputs: ({ coeffs }) => coeffs,
    lengthOf: () => 1,
    read(series) {
      const values = Float32Array.from(read(series));
      return Promise.resolve(series.map((_, i) => values.slice(i * outputs, (i + 1) * outputs)));
    },
    async fit(series, targets) {
      const columns = columnsOf(series);
      const labels = Float64Array.from(series, ({ label }) => label);
      const classWeights = settings.balance ? balancedWeights(countLabels(series, outputs)) : undefined;
      const problems = numbers
        ? Array.from({ length: outputs }, (_, k) => ({
          values: targets.filter((_, i) => i % outputs === k),
          options: { loss: "squared" } as const,
        }))
        : [{
          values: labels,
          options: {
            ...{ loss: "classes", classes: outputs } as const,
            weights: classWeights && labels.map((label) => classWeights[label]),
          },
        }];
      const { chooseTrees } = await import("../../math/choose_trees.ts");
      const folds = foldsOfSeries(series, foldCount, settings.seed);
      const fits: ChosenTrees[] = [];
      for (const { values, options } of problems) {
        fits.push(
          await chooseTrees({ columns, targets: values, folds }, {
            ...{ learningRate, leafRows, rowShare, seed: settings.seed, ...options },
            columnShare: Math.min(1, Math.max(columnShare, leastFeatures / count)),
            bins: Math.min(maxBins, Math.max(leastBins, Math.round(series.length / rowsPerBin))),
          }, choices),
        );
      }
      trees = store(fits.map(({ trees }) => trees));
      if (!numbers) return outputsOf(fits[0].leftOut);
      return targets.map((_, i) => fits[i % outputs].leftOut[Math.floor(i / outputs)]);
    },
    async onLoad() {
      trees = await load();
    },
  };
}
