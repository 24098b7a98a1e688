/** Structures of loops: all that depends on the graph of a loop alone, cached for loops with the same graph. */
import { LruCache } from "../../device/lru_cache.ts";
import { type Batched, isRecording, isWatched } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { makeLoopCarried, type ShiftedRows } from "./loop_carried.ts";
import {
  evaluate,
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";
import {
  bytesOf,
  hoist,
  type HoistedLoop,
  isProductOfSamples,
  type LoopGraph,
  residualCandidates,
} from "./hoisted_loop.ts";
import { joinTables } from "./shared_indices.ts";
import { loweredOf } from "./lowered_loop.ts";
import { statesForGradient } from "./saved_states.ts";
import { Uncompilable } from "../trace/uncompilable.ts";

/** The traced body of a loop, as nodes. */
export interface LoopBody extends LoopNodes {
  readonly trace: GraphTrace;
  readonly rows: readonly Node[];
  /** States and rows that are gradients. */
  readonly gradients: readonly Node[];
  /** The states that end the loop, in the order of {@linkcode Ending}; none if the number of steps is given. */
  readonly ending: readonly Node[];
  readonly shiftedRows: readonly ShiftedRows[];
}

/** A body, and how its loop is compiled. */
interface TracedBody extends LoopBody {
  /** Whether matrix products of each sample stay in the loop even if they could be hoisted. */
  readonly keepsProducts: boolean;
}

/** Maximum number of cached structures. */
const maxStructures = 128;

/** Cached structures, by the text of their graphs. */
const structures = new LruCache<string, LoopStructure>(maxStructures);

/** The structure of a body, from the cache if an earlier body had the same graph. */
export function structureOf(body: TracedBody, constants: readonly Node[]): LoopStructure {
  const { trace, state, rows, next, outputs, sums, gradients, ending, shiftedRows, keepsProducts } = body;
  const lists = [state, rows, next, outputs, sums, gradients, ending, shiftedRows.flat()];
  const text = `${trace.textOf(...lists)}\n${keepsProducts}`;
  return structures.getOrMake(text, () => new LoopStructure(body, constants));
}

/** The graph of a loop, and the loops hoisted from it. */
export class LoopStructure {
  readonly graph: LoopGraph;
  readonly #rows: readonly Node[];
  readonly #constants: readonly Node[];
  /** Nodes that give the initial values of the added loop-carried states, at the first rows. */
  readonly #carried: readonly Node[];
  readonly #keepsProducts: boolean;
  /** Hoisted loops, or errors, by the inputs that gradient tapes watch. */
  readonly #hoistedLoops = new Map<string, HoistedLoop | Uncompilable>();

  constructor({ shiftedRows, ending, keepsProducts, ...body }: TracedBody, constants: readonly Node[]) {
    const { trace, state, rows } = body;
    const isCostly = (node: OperationNode) => keepsProducts && isProductOfSamples(node, state[0]);
    const mixes = !state.every(({ shape }) => shape.length > 0 && shape[0] === state[0].shape[0]);
    const joined = ending.length > 0 && mixes ? joinTables(trace, body) : body;
    const { carried, ...all } = makeLoopCarried(trace, joined, shiftedRows, isCostly);
    const inputs = new Map<Node, boolean>(rows.map((node) => [node, true]));
    for (const node of constants) inputs.set(node, false);
    this.graph = {
      ...all,
      trace,
      inputs,
      notHoisted: [],
      gradients: body.gradients,
      watched: [],
      residuals: [],
      ending: ending.length > 0
        ? { settled: state.indexOf(ending[0]), count: state.indexOf(ending[1]) }
        : undefined,
      backward: false,
    };
    this.#rows = rows;
    this.#constants = constants;
    this.#carried = carried;
    this.#keepsProducts = keepsProducts;
  }

  /**
   * The hoisted loop. While a gradient tape records, states that the gradient reads are outputs too, after the outputs of the
   * body.
   *
   * @param values Result of {@linkcode values}.
   * @param residualBytes Limit in bytes for the residuals of a step besides the states. Either all candidates are kept or none.
   * @throws {Uncompilable} If the loop cannot be compiled.
   */
  hoist(values: ReadonlyMap<Node, Batched>, residualBytes = 0): HoistedLoop {
    const loop = this.#hoist(values, []);
    if (residualBytes === 0 || !isRecording()) return loop;
    const residuals = residualCandidates(loop);
    return residuals.length > 0 && bytesOf(residuals) <= residualBytes
      ? this.#hoist(values, residuals)
      : loop;
  }

  #hoist(values: ReadonlyMap<Node, Batched>, residuals: readonly Node[]): HoistedLoop {
    const saves = isRecording();
    const mask = Array.from(saves ? values.values() : [], ({ tensor }) => isWatched(tensor));
    const key = `${saves} ${mask.map(Number).join("")} ${residuals.length}`;
    let hoisted = this.#hoistedLoops.get(key);
    if (!hoisted) {
      const { outputs } = this.graph;
      const watched = [...values.keys()].filter((_, i) => mask[i]);
      const graph = saves
        ? {
          ...this.graph,
          watched,
          residuals,
          outputs: [...outputs, ...statesForGradient(this.graph, watched), ...residuals],
        }
        : this.graph;
      this.#hoistedLoops.set(key, hoisted = compilable(graph, this.#keepsProducts));
    }
    if (hoisted instanceof Uncompilable) throw hoisted;
    return hoisted;
  }

  /** The values of rows and constants, by node. */
  values(sequences: readonly Tensor[], constants: readonly Tensor[]): Map<Node, Batched> {
    return new Map<Node, Batched>([
      ...this.#rows.map((node, i) => [node, { tensor: sequences[i], varies: true }] as const),
      ...this.#constants.map((node, i) => [node, { tensor: constants[i], varies: false }] as const),
    ]);
  }

  /** Initial values of the added loop-carried states. */
  initialLoopCarried(sequences: readonly Tensor[], constants: readonly Tensor[]): Tensor[] {
    if (this.#carried.length === 0) return [];
    const values = new Map<Node, Tensor>();
    for (const [node, { tensor, varies }] of this.values(sequences, constants)) {
      values.set(node, varies ? tensor.select(0, 0) : tensor);
    }
    evaluate(topological(this.#carried, values), values);
    return this.#carried.map((node) => values.get(node)!);
  }
}

/** The hoisted loop, or the error if it cannot be compiled. */
function compilable(graph: LoopGraph, keepsProducts: boolean): HoistedLoop | Uncompilable {
  try {
    const hoistedLoop = hoist(graph, keepsProducts);
    loweredOf(hoistedLoop);
    return hoistedLoop;
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    return keepsProducts ? compilable(graph, false) : error;
  }
}
