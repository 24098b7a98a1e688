/** The loop that solvers are written with: `scan` is one whose gradient is known. */
import { sharingViews } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, type Tree, withLeaves } from "../tensor/tree.ts";
import type { Executor } from "./run.ts";
import { GraphTrace, type Node, topological } from "./graph.ts";
import {
  type GraphLoop,
  isProductOfSamples,
  type LoopNodes,
  makeLoop,
  runCompiledOrNot,
} from "./graph_loop.ts";
import { piecesOf, runPieces } from "./pieces.ts";
import { executorOf } from "./scan.ts";
import { segmentLength } from "./segments.ts";

export { TracedFunction } from "./traced_function.ts";

/** Results of a step. */
export interface Step<C extends Tree, Y extends Tree, S extends Tree> {
  /** The state after the step, with the structure and shapes of the one before. */
  readonly carry: C;
  /** Values of every step. */
  readonly outputs?: Y;
  /** Values summed over the steps. */
  readonly sums?: S;
}

/** Options of a {@linkcode Loop}. */
export interface LoopOptions<C extends Tree, X extends Tree> {
  /** Whether it is compiled where it can be, `true` by default. */
  readonly compile?: boolean;
  /** Bytes that what is computed ahead of the steps may take; steps beyond wait for the next piece. No bound by default. */
  readonly memory?: number;
  /** Picks what is a gradient from the state and the row, and so linear in the sums: zero for samples that a tile lacks. */
  readonly gradients?: (carry: C, row: X) => readonly Tensor[];
  /**
   * Picks from the state the tensor, with a number for each sample, that differs from zero once nothing of the sample changes
   * any more: steps that follow may be left out, and what they would have put out is undefined.
   */
  readonly settled?: (carry: C) => Tensor;
  /** Whether matrix products of each sample stay in the loop where they need not; as it suits the device by default. */
  readonly keepsProducts?: boolean;
}

/**
 * A loop whose body is traced once, to be run again and again. It runs compiled or, where that cannot be, step by step, and has no
 * gradient.
 */
export class Loop<C extends Tree, X extends Tree, Y extends Tree = undefined, S extends Tree = undefined> {
  readonly #options: LoopOptions<C, X>;
  readonly #nodes: Required<LoopNodes>;
  readonly #rows: readonly Node[];
  readonly #gradients: ReadonlySet<Node>;
  /** The position of the state that says which samples are settled. */
  readonly #settled: number | undefined;
  readonly #step: Step<C, Y, S>;
  readonly #executor: Executor | undefined;
  readonly #keepsProducts: boolean;
  /** The loop with its values, where there are no rows: it is the same in every run. */
  readonly #bound: GraphLoop | undefined;

  /**
   * @param body A step, from the state and a row of each sequence.
   * @param carry A state like all that it will be given.
   * @param sequences Sequences like all that it will be given, along their first axis.
   */
  constructor(
    body: (carry: C, row: X) => Step<C, Y, S>,
    carry: C,
    sequences: X,
    options: LoopOptions<C, X> = {},
  ) {
    const trace = new GraphTrace();
    const symbolsOf = (list: readonly Tensor[], drop: number) =>
      list.map(({ shape, dtype }) => trace.input({ shape: shape.slice(drop), dtype }));
    const [state, rows] = [symbolsOf(leaves(carry), 0), symbolsOf(leaves(sequences), 1)];
    const symbols = [
      withLeaves(carry, state.map(({ tensor }) => tensor)),
      withLeaves(sequences, rows.map(({ tensor }) => tensor)),
    ] as const;
    const step = sharingViews(() => body(...symbols));
    const nodesOf = (tree: Tree) => leaves(tree).map((x) => trace.nodeOf(x));
    this.#options = options;
    this.#step = step;
    this.#rows = rows.map(({ node }) => node);
    this.#nodes = {
      state: state.map(({ node }) => node),
      next: nodesOf(step.carry),
      outputs: nodesOf(step.outputs),
      sums: nodesOf(step.sums),
    };
    this.#gradients = new Set(nodesOf(options.gradients?.(...symbols) ?? []));
    const settled = options.settled && trace.nodeOf(options.settled(symbols[0]));
    this.#settled = settled && this.#nodes.state.indexOf(settled);
    this.#executor = options.compile ?? true ? executorOf(leaves(carry)) : undefined;
    this.#keepsProducts = options.keepsProducts ?? this.#executor?.keepsProducts ?? false;
    if (rows.length === 0) this.#bound = this.#bind([], 1);
  }

  /** The state after so many steps, the outputs of all along a new first axis, and the sums, none where they are zero. */
  run(carry: C, sequences: X, steps: number): { carry: C; outputs: Y; sums: (Tensor | undefined)[] } {
    const { memory = Infinity } = this.#options;
    const rows = leaves(sequences);
    const length = segmentLength({ ...this.#nodes, outputs: this.#nodes.sums }, new Set(this.#rows), steps, {
      checkpoint: false,
      memory,
      stays: (node) => this.#keepsProducts && isProductOfSamples(node, this.#nodes.state[0]),
    });
    const result = runPieces(piecesOf(steps, length), leaves(carry), ({ start, count }, from) => {
      const loop = this.#bound ?? this.#bind(rows.map((x) => x.slice(0, start, start + count)), count);
      const gradients = linearIn(this.#gradients, loop);
      return runCompiledOrNot(loop, from, {
        ...{ steps: count, executor: this.#executor, gradients, settled: this.#settled },
      });
    });
    return {
      carry: withLeaves(carry, result.finals),
      outputs: withLeaves(this.#step.outputs as Y, result.outputs),
      sums: [...result.sums],
    };
  }

  #bind(rows: readonly Tensor[], steps: number): GraphLoop {
    const stepwise = new Map(this.#rows.map((node, i) => [node, { tensor: rows[i], varies: true }]));
    return makeLoop(this.#nodes, stepwise, steps, { keepsProducts: this.#keepsProducts });
  }
}

/** Gradients, and what is computed from them before the loop: it is linear in them, and so a gradient too. */
function linearIn(gradients: ReadonlySet<Node>, { rows }: GraphLoop): Set<Node> {
  const found = new Set(gradients);
  for (const node of topological(rows.keys())) {
    if (node.kind === "operation" && node.inputs.some((input) => found.has(input))) found.add(node);
  }
  return found;
}
