/** Trees in arrays of a fixed size, as the parameters of a model. */
import type { BoostedTrees } from "./predict_trees.ts";

/** Sizes of the arrays: maximum numbers of trees of an output, and of leaves of a tree. */
export interface PackedSizes {
  readonly trees: number;
  readonly leaves: number;
}

/** Trees of several outputs. Unused trees and nodes are leaves of the value 0. */
export interface PackedTrees {
  /** Start of each output. */
  readonly start: Float32Array;
  /** Shape (outputs, trees, nodes, 5): feature, threshold, first and missing child, and value. */
  readonly nodes: Float32Array;
}

/** Numbers of a node. */
export const nodeNumbers = 5;
/** Largest number in float32. */
const maxFloat32 = (2 - 2 ** -23) * 2 ** 127;

/** Rounds to the nearest finite number in float32; NaN stays. */
export function finiteFloat32(x: number): number {
  return Math.fround(Math.min(Math.max(x, -maxFloat32), maxFloat32));
}

/** Number of nodes of a tree with a number of leaves. */
export function nodeCount({ leaves }: Pick<PackedSizes, "leaves">): number {
  return 2 * leaves - 1;
}

/**
 * Packs ensembles, whose outputs follow each other. Thresholds and values are rounded to float32. If the features
 * are results of {@linkcode finiteFloat32}, the sides of rows in training do not change.
 */
export function packTrees(ensembles: readonly BoostedTrees[], sizes: PackedSizes): PackedTrees {
  const outputs = ensembles.reduce((sum, { outputs }) => sum + outputs, 0);
  const perTree = nodeNumbers * nodeCount(sizes);
  const nodes = new Float32Array(outputs * sizes.trees * perTree);
  for (let at = 0; at < nodes.length; at += nodeNumbers) nodes[at] = -1;
  let first = 0;
  for (const { outputs, roots, feature, threshold, left, missing, value } of ensembles) {
    roots.forEach((root, tree) => {
      const output = first + tree % outputs;
      const at = (output * sizes.trees + Math.floor(tree / outputs)) * perTree;
      const end = roots[tree + 1] ?? feature.length;
      for (let node = root; node < end; node++) {
        const isLeaf = feature[node] < 0;
        const numbers = isLeaf ? [-1, 0, 0, 0, value[node]] : [
          feature[node],
          finiteFloat32(threshold[node]),
          left[node] - root,
          missing[node] - root,
          0,
        ];
        nodes.set(numbers, at + nodeNumbers * (node - root));
      }
    });
    first += outputs;
  }
  return { start: Float32Array.from(ensembles.flatMap(({ start }) => [...start])), nodes };
}

/**
 * The trees of packed arrays, as one ensemble with all outputs.
 *
 * @throws {Error} If a child does not follow its parent in its tree.
 */
export function unpackTrees({ start, nodes }: PackedTrees, sizes: PackedSizes): BoostedTrees {
  const [outputs, perTree, count] = [start.length, nodeCount(sizes), nodes.length / nodeNumbers];
  const column = (offset: number) =>
    Float64Array.from({ length: count }, (_, node) => nodes[node * nodeNumbers + offset]);
  const feature = Int32Array.from(column(0));
  const children = (offset: number, most: number) =>
    Int32Array.from(column(offset), (child, node) => {
      const indexInTree = node % perTree;
      if (feature[node] >= 0 && !(child > indexInTree && child <= most)) {
        throw new Error(
          `damaged trees in the weights: node ${indexInTree} has the child ${child}, expected ${
            indexInTree + 1
          } to ${most}; ` +
            "restore the file, or train again",
        );
      }
      return node - indexInTree + child;
    });
  return {
    outputs,
    start: Float64Array.from(start),
    roots: Int32Array.from(
      { length: outputs * sizes.trees },
      (_, tree) => (tree % outputs * sizes.trees + Math.floor(tree / outputs)) * perTree,
    ),
    feature,
    threshold: column(1),
    // The node after `left` is a child, too.
    left: children(2, perTree - 2),
    missing: children(3, perTree - 1),
    value: column(4),
  };
}
