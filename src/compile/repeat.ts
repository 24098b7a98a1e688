import { sharingViews } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, mapTree, type Tree } from "../tensor/tree.ts";
import { GraphTrace } from "./graph.ts";
import { batchOf, makeLoop, runLoop, runLoopStepByStep } from "./loop.ts";
import { executorOf } from "./scan.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";

/** Runs a body so many times on a state: the last state, and the outputs of all steps along a new first axis. */
export type Repeat<C extends Tree, Y extends Tree> = (state: C, steps: number) => [state: C, outputs: Y];

/**
 * Traces a body once, to be run in a loop again and again. It has no gradient.
 *
 * @param f As that of `scan`, without sequences.
 * @param init A state like all that it will be given.
 * @param settled Picks from a state the tensor, with a number for each sample, that differs from zero once nothing of the
 * sample changes any more: steps that follow may be left out, and what they would have put out is undefined.
 */
export function repeat<C extends Tree, Y extends Tree>(
  f: (state: C) => [state: C, output: Y],
  init: C,
  settled: (state: C) => Tensor,
  compile = true,
): Repeat<C, Y> {
  const trace = new GraphTrace();
  const initial = leaves(init);
  const state = initial.map((x) => trace.input(x));
  const [next, output] = sharingViews(() => f(withLeaves(init, state.map(({ tensor }) => tensor))));
  const nodesOf = (tree: Tree) => leaves(tree).map((x) => trace.nodeOf(x));
  const execute = compile ? executorOf(initial) : undefined;
  const nodes = { state: state.map(({ node }) => node), next: nodesOf(next), outputs: nodesOf(output) };
  const loop = makeLoop(nodes, new Map(), 1, { fuse: execute?.fuses });
  const position = initial.indexOf(settled(init));
  let batch: number | undefined;
  try {
    if (execute) batch = batchOf(loop, initial, 1);
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
  }
  return (from, steps) => {
    const result = execute && batch !== undefined
      ? runLoop(loop, leaves(from), { steps, batch, execute, settled: position })
      : runLoopStepByStep(loop, leaves(from), steps);
    return [withLeaves(init, result.finals), withLeaves(output, result.outputs)];
  };
}

function withLeaves<T extends Tree>(tree: T, tensors: readonly Tensor[]): T {
  let position = 0;
  return mapTree(tree, () => tensors[position++]);
}
