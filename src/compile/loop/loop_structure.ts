/** Structures of loops: all that follows from the graph of a loop alone, kept for other loops of the same graph. */
import { LruCache } from "../../device/lru_cache.ts";
import { isRecording, isWatched } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { carryAcrossSteps, type Follower } from "./carry_across_steps.ts";
import {
  evaluate,
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";
import { bytesOf, isProductOfSamples, type LoopGraph, SplitLoop } from "./split.ts";
import { statesForGradient } from "./saved_states.ts";
import { Uncompilable } from "../trace/uncompilable.ts";
import type { Batched } from "../../tensor/batching.ts";

/** Nodes of a body. */
export interface TracedBody extends LoopNodes {
  readonly trace: GraphTrace;
  readonly rows: readonly Node[];
  /** Gradients among the state and the rows. */
  readonly gradients: readonly Node[];
  /** The state that says which samples are settled, if there is one. */
  readonly settled: readonly Node[];
  readonly followers: readonly Follower[];
  /** Whether matrix products of each sample stay in the loop where they need not. */
  readonly keepsProducts: boolean;
}

/** Structures that are kept. */
const maxStructures = 128;

/** By the text of their graphs. */
const structures = new LruCache<string, LoopStructure>(maxStructures);

/** The structure of a body: that of an earlier one with the same graph, if it is still known. */
export function structureOf(body: TracedBody, constants: readonly Node[]): LoopStructure {
  const { trace, state, rows, next, outputs, sums, gradients, settled, followers, keepsProducts } = body;
  const lists = [state, rows, next, outputs, sums, gradients, settled, followers.flat()];
  const text = `${trace.textOf(...lists)}\n${keepsProducts}`;
  return structures.getOrMake(text, () => new LoopStructure(body, constants));
}

/** A loop's graph, and the loops that were made of it. */
export class LoopStructure {
  readonly graph: LoopGraph;
  readonly #rows: readonly Node[];
  readonly #constants: readonly Node[];
  /** Nodes whose values for the first rows are the first values of states that the loop has besides its own. */
  readonly #carried: readonly Node[];
  readonly #keepsProducts: boolean;
  /** The loop by what a gradient tape watches, or why there is none. */
  readonly #splits = new Map<string, SplitLoop | Uncompilable>();

  constructor({ followers, settled, keepsProducts, ...body }: TracedBody, constants: readonly Node[]) {
    const { trace, state, rows } = body;
    const isCostly = (node: OperationNode) => keepsProducts && isProductOfSamples(node, state[0]);
    const { carried, ...all } = carryAcrossSteps(trace, body, followers, isCostly);
    const given = new Map<Node, boolean>(rows.map((node) => [node, true]));
    for (const node of constants) given.set(node, false);
    this.graph = {
      ...all,
      trace,
      given,
      held: [],
      gradients: body.gradients,
      watched: [],
      kept: [],
      settled: settled.length > 0 ? state.indexOf(settled[0]) : undefined,
      backward: false,
    };
    this.#rows = rows;
    this.#constants = constants;
    this.#carried = carried;
    this.#keepsProducts = keepsProducts;
  }

  /**
   * The loop, split. While a gradient tape is watching, states are outputs too, after those of the body, where a gradient needs
   * them.
   *
   * @param values Those of {@linkcode values}.
   * @param keepsBytes Bytes of a step's values that a gradient may find kept, besides the states: all of them or none are.
   * @throws {Uncompilable} If it cannot be compiled.
   */
  split(values: ReadonlyMap<Node, Batched>, keepsBytes = 0): SplitLoop {
    const loop = this.#split(values, []);
    if (keepsBytes === 0 || !isRecording()) return loop;
    const kept = loop.keepable;
    return kept.length > 0 && bytesOf(kept) <= keepsBytes ? this.#split(values, kept) : loop;
  }

  #split(values: ReadonlyMap<Node, Batched>, kept: readonly Node[]): SplitLoop {
    const saves = isRecording();
    const mask = Array.from(saves ? values.values() : [], ({ tensor }) => isWatched(tensor));
    const key = `${saves} ${mask.map(Number).join("")} ${kept.length}`;
    let known = this.#splits.get(key);
    if (!known) {
      const { outputs } = this.graph;
      const watched = [...values.keys()].filter((_, i) => mask[i]);
      const graph = saves
        ? {
          ...this.graph,
          watched,
          kept,
          outputs: [...outputs, ...statesForGradient(this.graph, watched), ...kept],
        }
        : this.graph;
      this.#splits.set(key, known = compilable(graph, this.#keepsProducts));
    }
    if (known instanceof Uncompilable) throw known;
    return known;
  }

  /** The values of rows and constants, by node. */
  values(sequences: readonly Tensor[], constants: readonly Tensor[]): Map<Node, Batched> {
    return new Map<Node, Batched>([
      ...this.#rows.map((node, i) => [node, { tensor: sequences[i], varies: true }] as const),
      ...this.#constants.map((node, i) => [node, { tensor: constants[i], varies: false }] as const),
    ]);
  }

  /** First values of the states that the loop has besides its own. */
  firstCarried(sequences: readonly Tensor[], constants: readonly Tensor[]): Tensor[] {
    if (this.#carried.length === 0) return [];
    const values = new Map<Node, Tensor>();
    for (const [node, { tensor, varies }] of this.values(sequences, constants)) {
      values.set(node, varies ? tensor.select(0, 0) : tensor);
    }
    evaluate(topological(this.#carried, values), values);
    return this.#carried.map((node) => values.get(node)!);
  }
}

/** A loop that can be compiled, or why there is none. */
function compilable(graph: LoopGraph, keepsProducts: boolean): SplitLoop | Uncompilable {
  try {
    const split = new SplitLoop(graph, keepsProducts);
    // Finds out whether there is one.
    split.batch;
    return split;
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    return keepsProducts ? compilable(graph, false) : error;
  }
}
