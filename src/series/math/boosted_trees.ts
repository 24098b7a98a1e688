/**
 * Gradient boosted trees: Friedman, "Greedy Function Approximation: A Gradient Boosting Machine" (2001), and
 * "Stochastic Gradient Boosting" (2002), with the histograms of Ke et al., "LightGBM" (2017). The same numbers
 * and seed give the same trees, to the bit, in every program.
 */
import { unitPair } from "../../data/host_random.ts";
import { foldIn, key as keyOf } from "../../tensor/random.ts";
import { exp, log } from "./elementary.ts";
import { binFeatures, maxBins } from "./feature_bins.ts";
import { addTree, type BoostedTrees } from "./predict_trees.ts";
import { type Derivatives, type Nodes, treeGrower, type TreeLimits } from "./grow_tree.ts";

/** Options of {@linkcode fitBoostedTrees}. */
export interface BoostedTreesOptions extends Partial<TreeLimits> {
  /**
   * Loss: half the squared error, the absolute error, or the cross-entropy of classes. Targets of classes are
   * 0, 1, ..., and outputs their logits; two classes have a single output, the log-odds of class 1.
   */
  readonly loss: "squared" | "absolute" | "classes";
  /** Number of classes, at least 2, for the loss `"classes"`. */
  readonly classes?: number;
  /** Number of trees of each output. @default {100} */
  readonly trees?: number;
  /** Factor of the leaf values, above 0 and at most 1. @default {0.1} */
  readonly learningRate?: number;
  /** Maximum number of bins of a feature, from 2 to 255. @default {255} */
  readonly bins?: number;
  /** Share of the rows that a tree is grown on, above 0 and at most 1. @default {1} */
  readonly rowShare?: number;
  /** Seed of the random rows and features, a whole number from 0. @default {0} */
  readonly seed?: number;
  /** Weight of each row, at least 0; 1 by default. */
  readonly weights?: Float64Array;
}

/** Maximum time between two turns of the event loop while fitting, in milliseconds. */
const turnInterval = 50;

/**
 * Fits boosted trees (Friedman 2001, algorithm 1).
 *
 * @param columns Values of each feature, one number for each row; NaN is missing.
 * @param targets Target of each row: a number or a class. Without rows, numbers are 0.
 */
export async function fitBoostedTrees(
  columns: readonly Float64Array[],
  targets: Float64Array,
  options: BoostedTreesOptions,
): Promise<BoostedTrees> {
  const { trees = 100, rowShare = 1, bins = maxBins, seed = 0, learningRate = 0.1 } = options;
  const { leaves = 31, depth = Infinity, leafRows = 20, l2 = 1, columnShare = 1 } = options;
  const rows = targets.length;
  const { weights } = options;
  const loss = options.loss === "classes"
    ? classLoss(targets, options.classes ?? 2, weights)
    : numberLoss(targets, options.loss === "squared", weights);
  const { outputs, start } = loss;
  const scores = Array.from({ length: outputs }, (_, k) => new Float64Array(rows).fill(start[k]));
  const grow = treeGrower(binFeatures(columns, bins), { leaves, depth, leafRows, l2, columnShare });
  const all = Int32Array.from(targets, (_, row) => row);
  const nodes: Nodes = { feature: [], threshold: [], left: [], missing: [], value: [] };
  const roots: number[] = [];
  const key = keyOf(seed);
  let yieldedAt = performance.now();
  for (let tree = 0; tree < trees; tree++) {
    if (performance.now() - yieldedAt > turnInterval) {
      await new Promise((resolve) => setTimeout(resolve));
      yieldedAt = performance.now();
    }
    const sampleKey = foldIn(key, tree);
    const sample = all.filter((row) => rowShare === 1 || unitPair(sampleKey, row)[0] < rowShare);
    loss.prepare?.(scores);
    for (let k = 0; k < outputs; k++) {
      const derivatives = loss.derivatives(scores[k], k);
      const root = nodes.feature.length;
      roots.push(root);
      const grown = grow(sample, derivatives, nodes, foldIn(sampleKey, k + 1));
      for (const leaf of grown) {
        const inLeaf = sample.subarray(leaf.start, leaf.end);
        const value = learningRate *
          (loss.leafValue?.(inLeaf, scores[k]) ?? newtonStep(inLeaf, derivatives, l2));
        nodes.value[leaf.node] = value;
        if (sample.length === rows) inLeaf.forEach((row) => scores[k][row] += value);
      }
      if (sample.length < rows) addTree(nodes, root, columns, scores[k], 0, 1);
    }
  }
  return {
    outputs,
    start,
    roots: Int32Array.from(roots),
    feature: Int32Array.from(nodes.feature),
    left: Int32Array.from(nodes.left),
    missing: Int32Array.from(nodes.missing),
    threshold: Float64Array.from(nodes.threshold),
    value: Float64Array.from(nodes.value),
  };
}

/** A loss, at outputs for each row of the table. */
interface Loss {
  readonly outputs: number;
  /** The best constant outputs. */
  readonly start: Float64Array;
  /** Reads all outputs, before the derivatives of each. */
  prepare?(scores: readonly Float64Array[]): void;
  /** Derivatives at one output. */
  derivatives(scores: Float64Array, output: number): Derivatives;
  /** The best value of a leaf with some rows, before the learning rate; by default a Newton step. */
  leafValue?(rows: Int32Array, scores: Float64Array): number;
}

/** A Newton step: sum of gradients / (sum of second derivatives + lambda). */
function newtonStep(rows: Int32Array, { gradients, hessians }: Derivatives, l2: number): number {
  let [gradient, hessian] = [0, 0];
  for (const row of rows) {
    gradient += gradients[row];
    hessian += hessians?.[row] ?? 1;
  }
  return hessian > 0 ? gradient / (hessian + l2) : 0;
}

/**
 * LS_Boost (Friedman 2001, algorithm 2), or LAD_TreeBoost (algorithm 3), whose trees fit the signs of the residuals and
 * whose leaves have the medians of the residuals.
 */
function numberLoss(targets: Float64Array, isSquared: boolean, weights?: Float64Array): Loss {
  const weightOf = (i: number) => weights?.[i] ?? 1;
  const total = targets.reduce((sum, _, i) => sum + weightOf(i), 0);
  const mean = targets.reduce((sum, target, i) => sum + weightOf(i) * target, 0) /
    Math.max(total, Number.MIN_VALUE);
  return {
    outputs: 1,
    start: Float64Array.of(isSquared ? mean : weightedMedian(targets, weightOf)),
    derivatives: (scores) => ({
      gradients: targets.map((target, i) =>
        weightOf(i) * (isSquared ? target - scores[i] : Math.sign(target - scores[i]))
      ),
      hessians: weights,
    }),
    ...(isSquared ? {} : {
      leafValue: (rows, scores) =>
        weightedMedian(
          Float64Array.from(rows, (row) => targets[row] - scores[row]),
          (i) => weightOf(rows[i]),
        ),
    }),
  };
}

/** The smallest number with at least half the weight up to it; its mean with the next number at exactly half. */
function weightedMedian(values: Float64Array, weightOf: (i: number) => number): number {
  const order = Int32Array.from(values, (_, i) => i).sort((a, b) => values[a] - values[b] || a - b);
  const half = order.reduce((sum, i) => sum + weightOf(i), 0) / 2;
  let below = 0;
  const middle = order.findIndex((i) => (below += weightOf(i)) >= half);
  if (middle < 0) return 0;
  return below === half && middle + 1 < order.length
    ? (values[order[middle]] + values[order[middle + 1]]) / 2
    : values[order[middle]];
}

/**
 * L_K_TreeBoost (Friedman 2001, algorithm 6): the gradient of class k with probability p is y - p. The step of a leaf,
 * (K - 1) / K sum of g / sum of |g| (1 - |g|) (eq. 34), has the second derivative p (1 - p) for |g| (1 - |g|), as in
 * LightGBM. Two classes have one output (algorithm 5).
 */
function classLoss(targets: Float64Array, classes: number, weights?: Float64Array): Loss {
  const isBinary = classes === 2;
  const weightOf = (i: number) => weights?.[i] ?? 1;
  const shares = new Float64Array(classes);
  targets.forEach((target, i) => shares[target] += weightOf(i));
  const total = shares.reduce((sum, one) => sum + one, 0);
  // One more row, shared by all classes, so that an absent class has a finite logit.
  const logits = shares.map((share) => log((share + 1 / classes) / (total + 1)));
  const probabilities = Array.from({ length: classes }, () => new Float64Array(targets.length));
  return {
    outputs: isBinary ? 1 : classes,
    start: isBinary ? Float64Array.of(logits[1] - logits[0]) : logits,
    prepare(scores) {
      for (let i = 0; i < targets.length; i++) {
        if (isBinary) {
          probabilities[1][i] = 1 / (1 + exp(-scores[0][i]));
          continue;
        }
        let [most, sum] = [-Infinity, 0];
        for (let k = 0; k < classes; k++) most = Math.max(most, scores[k][i]);
        for (let k = 0; k < classes; k++) sum += probabilities[k][i] = exp(scores[k][i] - most);
        for (let k = 0; k < classes; k++) probabilities[k][i] /= sum;
      }
    },
    derivatives(_, output) {
      const chosen = isBinary ? 1 : output;
      const factor = isBinary ? 1 : classes / (classes - 1);
      return {
        gradients: probabilities[chosen].map((p, i) => weightOf(i) * ((targets[i] === chosen ? 1 : 0) - p)),
        hessians: probabilities[chosen].map((p, i) => weightOf(i) * factor * p * (1 - p)),
      };
    },
  };
}
