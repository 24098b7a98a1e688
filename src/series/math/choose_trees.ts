/** Choice of the sizes of boosted trees by cross-validation. */
import {
  type BoostedTrees,
  type BoostedTreesOptions,
  firstTrees,
  fitBoostedTrees,
  predictTrees,
} from "./boosted_trees.ts";
import { exp, log } from "./elementary.ts";

/** Rows to learn from. */
export interface TreeRows {
  /** Values of each feature; NaN is missing. */
  readonly columns: readonly Float64Array[];
  /** Number or class of each row. */
  readonly targets: Float64Array;
  /** Fold of each row, from 0. */
  readonly folds: ArrayLike<number>;
}

/** Sizes to compare. */
export interface TreeChoices {
  /** Numbers of leaves of a tree. */
  readonly leaves: readonly number[];
  /** Numbers of trees, ascending. */
  readonly trees: readonly number[];
}

/** Trees of the chosen size, fitted to all rows, and the outputs for each row of trees fitted to the other folds. */
export interface ChosenTrees {
  readonly trees: BoostedTrees;
  /** Shape (rows, outputs). */
  readonly leftOut: Float64Array;
}

/** Fits trees of the size with the smallest mean loss in cross-validation; of the first size if there is one fold. */
export async function chooseTrees(
  { columns, targets, folds }: TreeRows,
  options: BoostedTreesOptions,
  choices: TreeChoices,
): Promise<ChosenTrees> {
  const { weights } = options;
  const all = Array.from(targets.keys());
  const fit = (rows: readonly number[], leaves: number, trees: number) =>
    fitBoostedTrees(columnsAt(columns, rows), numbersAt(targets, rows), {
      ...{ ...options, leaves, trees },
      ...(weights ? { weights: numbersAt(weights, rows) } : {}),
    });
  const parts = [...new Set(Array.from(folds))].map((fold) => ({
    inside: all.filter((row) => folds[row] === fold),
    others: all.filter((row) => folds[row] !== fold),
  })).filter(({ others }) => others.length > 0);
  let best = {
    loss: Infinity,
    leaves: choices.leaves[0],
    trees: choices.trees[0],
    leftOut: new Float64Array(0),
  };
  for (const leaves of parts.length > 0 ? choices.leaves : []) {
    const found = choices.trees.map((trees) => ({ trees, leftOut: new Float64Array(0) }));
    for (const { inside, others } of parts) {
      const fitted = await fit(others, leaves, choices.trees.at(-1)!);
      const { outputs } = fitted;
      const read = columnsAt(columns, inside);
      for (const one of found) {
        if (one.leftOut.length === 0) one.leftOut = new Float64Array(outputs * all.length);
        const predicted = predictTrees(firstTrees(fitted, one.trees), read);
        inside.forEach((row, i) =>
          one.leftOut.set(predicted.subarray(i * outputs, (i + 1) * outputs), row * outputs)
        );
      }
    }
    for (const { trees, leftOut } of found) {
      const loss = meanLoss(leftOut, targets, options);
      if (loss < best.loss) best = { loss, leaves, trees, leftOut };
    }
  }
  const trees = await fit(all, best.leaves, best.trees);
  return { trees, leftOut: best.leftOut.length > 0 ? best.leftOut : predictTrees(trees, columns) };
}

function numbersAt(numbers: Float64Array, rows: readonly number[]): Float64Array {
  return Float64Array.from(rows, (row) => numbers[row]);
}

function columnsAt(columns: readonly Float64Array[], rows: readonly number[]): Float64Array[] {
  return columns.map((column) => numbersAt(column, rows));
}

/** Weighted mean of the squared or absolute errors, or of the cross-entropies. */
function meanLoss(
  outputs: Float64Array,
  targets: Float64Array,
  { loss, weights }: Pick<BoostedTreesOptions, "loss" | "weights">,
): number {
  const width = outputs.length / targets.length;
  let [sum, total] = [0, 0];
  targets.forEach((target, row) => {
    const found = outputs.subarray(row * width, (row + 1) * width);
    const weight = weights?.[row] ?? 1;
    total += weight;
    if (loss === "classes") sum += weight * crossEntropyOf(width === 1 ? [0, found[0]] : found, target);
    else sum += weight * (loss === "squared" ? (found[0] - target) ** 2 : Math.abs(found[0] - target));
  });
  return sum / total;
}

function crossEntropyOf(logits: ArrayLike<number>, label: number): number {
  let [most, sum] = [-Infinity, 0];
  for (let k = 0; k < logits.length; k++) most = Math.max(most, logits[k]);
  for (let k = 0; k < logits.length; k++) sum += exp(logits[k] - most);
  return log(sum) + most - logits[label];
}
