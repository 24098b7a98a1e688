/** Fitted trees, and their predictions. */
import type { Nodes } from "./grow_tree.ts";

/** Fitted trees. A row's output is its start plus the value of its leaf in each tree of this output. */
export interface BoostedTrees extends Nodes<Int32Array, Float64Array> {
  /** Number of outputs: 1, or the number of classes if there are more than two. */
  readonly outputs: number;
  /** Start of each output. */
  readonly start: Float64Array;
  /** Root node of each tree. Tree t belongs to output t % outputs. */
  readonly roots: Int32Array;
}

/**
 * Predicts rows.
 *
 * @param columns Values of each feature; NaN is missing.
 * @returns Numbers or logits `(rows, outputs)`, row-major.
 */
export function predictTrees(trees: BoostedTrees, columns: readonly Float64Array[]): Float64Array {
  const { outputs, start, roots } = trees;
  const rows = columns[0].length;
  const predictions = Float64Array.from({ length: rows * outputs }, (_, i) => start[i % outputs]);
  roots.forEach((root, tree) => addTree(trees, root, columns, predictions, tree % outputs, outputs));
  return predictions;
}

/** The first trees of each output. Boosted trees with fewer trees are the beginning of those with more. */
export function firstTrees(trees: BoostedTrees, count: number): BoostedTrees {
  return { ...trees, roots: trees.roots.subarray(0, count * trees.outputs) };
}

/** Adds the leaf value of each row to every `step`-th number of an array, from `first`. */
export function addTree(
  { feature, threshold, left, missing, value }: Nodes<ArrayLike<number>>,
  root: number,
  columns: readonly Float64Array[],
  into: Float64Array,
  first: number,
  step: number,
): void {
  for (let at = first, row = 0; at < into.length; at += step, row++) {
    let node = root;
    for (let column = feature[node]; column >= 0; column = feature[node]) {
      const x = columns[column][row];
      node = x <= threshold[node] ? left[node] : x > threshold[node] ? left[node] + 1 : missing[node];
    }
    into[at] += value[node];
  }
}
