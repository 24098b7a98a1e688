/** Choice of the sizes of boosted trees by cross-validation. */
import { type BoostedTreesOptions, fitBoostedTrees } from "./boosted_trees.ts";
import { type BoostedTrees, firstTrees, predictTrees } from "./predict_trees.ts";
import { exp, log } from "./elementary.ts";

/** Rows to learn from. */
interface TreeRows {
  /** Values of each feature; NaN is missing. */
  readonly columns: readonly Float64Array[];
  /** Number or class of each row; rows with NaN are left out. */
  readonly targets: Float64Array;
  /** Fold of each row, from 0. */
  readonly folds: ArrayLike<number>;
}

/** Sizes to compare. */
interface TreeChoices {
  /** Numbers of leaves of a tree. */
  readonly leaves: readonly number[];
  /** Numbers of trees, ascending. */
  readonly trees: readonly number[];
}

/** Trees of the chosen size. */
export interface ChosenTrees {
  /** Trees that are fitted to all rows. */
  readonly trees: BoostedTrees;
  /** Outputs for each row of trees that are fitted to the other folds. Shape (rows, outputs). */
  readonly leftOut: Float64Array;
}

/**
 * Fits trees of the size with the smallest mean loss in cross-validation. With all rows in one fold, the size is the
 * first one, and `leftOut` are the outputs of the fit.
 */
export async function chooseTrees(
  { columns, targets, folds }: TreeRows,
  options: BoostedTreesOptions,
  choices: TreeChoices,
): Promise<ChosenTrees> {
  const labelled = Array.from(targets.keys()).filter((row) => !Number.isNaN(targets[row]));
  const fit = (rows: readonly number[], leaves: number, trees: number) =>
    fitBoostedTrees(columnsAt(columns, rows), numbersAt(targets, rows), {
      ...{ ...options, leaves, trees },
      ...(options.weights ? { weights: numbersAt(options.weights, rows) } : {}),
    });
  const parts = Map.groupBy(labelled, (row) => folds[row]).values().toArray();
  let best: { loss: number; leaves: number; trees: number; leftOut?: Float64Array } = {
    ...{ loss: Infinity, leaves: choices.leaves[0], trees: choices.trees[0] },
  };
  for (const leaves of parts.length > 1 ? choices.leaves : []) {
    const candidates = choices.trees.map((trees) => ({ trees, leftOut: new Float64Array(0) }));
    for (const part of parts) {
      const inPart = new Set(part);
      const fitted = await fit(labelled.filter((row) => !inPart.has(row)), leaves, choices.trees.at(-1)!);
      const [{ outputs }, partColumns] = [fitted, columnsAt(columns, part)];
      for (const candidate of candidates) {
        if (candidate.leftOut.length === 0) candidate.leftOut = new Float64Array(targets.length * outputs);
        const predicted = predictTrees(firstTrees(fitted, candidate.trees), partColumns);
        part.forEach((row, i) =>
          candidate.leftOut.set(predicted.subarray(i * outputs, (i + 1) * outputs), row * outputs)
        );
      }
    }
    for (const { trees, leftOut } of candidates) {
      const loss = meanLoss(leftOut, targets, labelled, options);
      if (loss < best.loss) best = { loss, leaves, trees, leftOut };
    }
  }
  const trees = await fit(labelled, best.leaves, best.trees);
  return { trees, leftOut: best.leftOut ?? predictTrees(trees, columns) };
}

function numbersAt(numbers: Float64Array, rows: readonly number[]): Float64Array {
  return Float64Array.from(rows, (row) => numbers[row]);
}

function columnsAt(columns: readonly Float64Array[], rows: readonly number[]): Float64Array[] {
  return columns.map((column) => numbersAt(column, rows));
}

/** Weighted mean of the squared errors, the absolute errors or the cross-entropies of some rows. */
function meanLoss(
  outputs: Float64Array,
  targets: Float64Array,
  rows: readonly number[],
  { loss, weights }: Pick<BoostedTreesOptions, "loss" | "weights">,
): number {
  const width = outputs.length / targets.length;
  let [sum, total] = [0, 0];
  for (const row of rows) {
    const prediction = outputs.subarray(row * width, (row + 1) * width);
    const weight = weights?.[row] ?? 1;
    const error = prediction[0] - targets[row];
    sum += weight *
      (loss === "classes"
        ? crossEntropy(width === 1 ? [0, prediction[0]] : prediction, targets[row])
        : loss === "squared"
        ? error ** 2
        : Math.abs(error));
    total += weight;
  }
  return sum / total;
}

function crossEntropy(logits: ArrayLike<number>, label: number): number {
  let [most, sum] = [-Infinity, 0];
  for (let k = 0; k < logits.length; k++) most = Math.max(most, logits[k]);
  for (let k = 0; k < logits.length; k++) sum += exp(logits[k] - most);
  return log(sum) + most - logits[label];
}
