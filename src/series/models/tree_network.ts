/** Boosted trees on summaries of series, as a kind of model for series. */
import { foldSplit, type Series } from "../../data/series.ts";
import { parameterOf } from "../../nn/layer.ts";
import { key } from "../../tensor/random.ts";
import { tensor, zeros } from "../../tensor/creation.ts";
import { tidy } from "../../tensor/scope.ts";
import { type BoostedTrees, type BoostedTreesOptions, predictTrees } from "../math/boosted_trees.ts";
import { chooseTrees, type ChosenTrees } from "../math/choose_trees.ts";
import { nodeCount, nodeNumbers, type PackedTrees, packTrees, unpackTrees } from "../math/pack_trees.ts";
import type { FittedModelKind, SeriesNetwork, SeriesNetworkOptions } from "./series_network.ts";
import { summaryFeatures } from "./summary_features.ts";

/** Maximum number of training series of a small table. */
const manySeries = 1000;

/** Settings of trees for a number of training series. Cross-validation chooses the number of leaves and of trees. */
function sizesFor(series: number) {
  return series <= manySeries
    ? { trees: 200, leaves: 16, choices: [4, 16], options: { learningRate: 0.05, leafRows: 3, bins: 32 } }
    : { trees: 300, leaves: 32, choices: [8, 32], options: { learningRate: 0.1, leafRows: 20, bins: 255 } };
}
/** Shares of the rows and of the features of each tree. */
const shares = { rowShare: 0.5, columnShare: 0.3 };
/** Numbers of trees to compare, as fractions of the maximum. */
const lengthShares = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];
/** Number of folds: 5 for up to 200 series, otherwise 3. */
const foldsFor = (series: number) => series <= 200 ? 5 : 3;

/** Gradient boosted trees on {@linkcode summaryFeatures}, for classes and numbers. */
export const boostedTrees: FittedModelKind = {
  takes: [],
  isCandidate: true,
  defaults: { epochs: 1 },
  rejects: ["epochs", "learningRate", "patience", "positiveWeight", "intensity", "search"],
  network: treeNetwork,
};

function treeNetwork(
  { record, settings }: SeriesNetworkOptions,
  outputs: number,
): Omit<SeriesNetwork, "members" | "memberOutputs"> {
  const { channels, split, targets: numbers } = record;
  const sizes = sizesFor(split.train.length);
  // Two classes have one output.
  const fitted = numbers || outputs > 2 ? outputs : 1;
  const parameters = {
    start: parameterOf(() => zeros([fitted])),
    nodes: parameterOf(() => zeros([fitted, sizes.trees, nodeCount(sizes), nodeNumbers])),
  };
  let trees: BoostedTrees | undefined;
  /** Features of series that were read before. Reports and evaluations read the same series several times. */
  const known = new WeakMap<Series, Float64Array>();
  const featuresOf = (series: Series): Float64Array => {
    const before = known.get(series);
    if (before) return before;
    // Thresholds are stored in float32.
    const features = summaryFeatures(series, channels).map(Math.fround);
    known.set(series, features);
    return features;
  };
  const columnsOf = (series: readonly Series[]) => {
    const rows = series.map(featuresOf);
    return Array.from(rows[0], (_, feature) => Float64Array.from(rows, (row) => row[feature]));
  };
  /** Logits of two classes add up to 0. */
  const outputsOf = (found: Float64Array) =>
    fitted === outputs
      ? found
      : Float64Array.from({ length: 2 * found.length }, (_, i) => (i % 2 - 0.5) * found[i >> 1]);
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
      const found = Float32Array.from(read(series));
      return Promise.resolve(series.map((_, i) => found.slice(i * outputs, (i + 1) * outputs)));
    },
    async fit(series, targets) {
      const folds = foldsOf(series, settings.seed);
      const choose = (rows: readonly number[], values: Float64Array, options: Partial<BoostedTreesOptions>) =>
        chooseTrees(
          {
            columns: columnsOf(rows.map((row) => series[row])),
            targets: Float64Array.from(rows, (row) => values[row]),
            folds: rows.map((row) => folds[row]),
          },
          { loss: "squared", ...sizes.options, ...shares, ...options, seed: settings.seed },
          { leaves: sizes.choices, trees: lengthShares.map((share) => share * sizes.trees) },
        );
      const fits: ChosenTrees[] = [];
      const all = Array.from(series.keys());
      if (numbers) {
        for (let k = 0; k < outputs; k++) {
          const values = Float64Array.from(series, (_, i) => targets[i * outputs + k]);
          const rows = all.filter((i) => !Number.isNaN(values[i]));
          // Without a known target, any number is as good as the mean.
          fits.push(
            await choose(rows.length > 0 ? rows : all, rows.length > 0 ? values : values.fill(0), {}),
          );
        }
      } else {
        const labels = Float64Array.from(series, ({ label }) => label);
        const weights = settings.balance ? balanced(labels, outputs) : undefined;
        fits.push(await choose(all, labels, { loss: "classes", classes: outputs, weights }));
      }
      const packed = packTrees(fits.map(({ trees }) => trees), sizes);
      trees = unpackTrees(packed, sizes);
      tidy(() => {
        parameters.start.assign(tensor(packed.start));
        parameters.nodes.assign(tensor(packed.nodes, { shape: parameters.nodes.shape }));
      });
      return outputsOf(fits[0].leftOut);
    },
    async onLoad() {
      const [start, nodes] = await Promise.all([parameters.start.data(), parameters.nodes.data()]);
      trees = unpackTrees({ start, nodes } as PackedTrees, sizes);
    },
  };
}

/** Fold of each series. The series of a group share a fold. */
function foldsOf(series: readonly Series[], seed: number): number[] {
  const groups = [...Map.groupBy(series.keys(), (i) => series[i].group ?? series[i].name).values()];
  const items = groups.map((members) => ({ label: Math.max(0, series[members[0]].label), members }));
  const count = Math.min(foldsFor(series.length), groups.length);
  const folds = series.map(() => 0);
  for (let fold = 0; fold < count && count > 1; fold++) {
    for (const { members } of foldSplit(items, key(seed), count, fold).test) {
      for (const member of members) folds[member] = fold;
    }
  }
  return folds;
}

/** Weights that give each class the same total weight. */
function balanced(labels: Float64Array, classes: number): Float64Array {
  const counts = new Float64Array(classes);
  for (const label of labels) counts[label]++;
  return labels.map((label) => labels.length / (classes * counts[label]));
}
