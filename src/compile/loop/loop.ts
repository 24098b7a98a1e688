/**
 * The one loop: `scan`, all solvers and their gradients are made of it. Its body is traced into a graph. What follows from the
 * graph alone (what runs before the loop, its programs, its gradient) is kept, and serves every loop of the same graph.
 */
import { isFloat } from "../../device/dtype.ts";
import { hostSpan } from "../../device/profiler.ts";
import { stack } from "../../tensor/functions.ts";
import { peekHostValues } from "../../tensor/host.ts";
import { isRecording, record, sharingResults } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import { scalar, type Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap, withLeaves } from "../../tensor/tree.ts";
import { tensorsOfNext } from "./carry.ts";
import { isOneFurther } from "./carry_across_steps.ts";
import { executorOf } from "../executors/choose_executor.ts";
import { GraphTrace, type Node } from "../trace/graph.ts";
import {
  bind,
  closedOver,
  type GraphLoop,
  type LoopResult,
  outputsOf,
  runLoop,
  runStepByStep,
} from "./graph_loop.ts";
import { type LoopStructure, structureOf, type TracedBody } from "./loop_structure.ts";
import { reverseLoop } from "./reverse_loop.ts";
import type { Executor } from "../executors/run.ts";
import { type Given, gradientsOfInputs, runInSegments, type RunSteps } from "./segments.ts";
import { Uncompilable, warnOnce } from "../trace/uncompilable.ts";

export { TracedFunction } from "../trace/traced_function.ts";
export { Uncompilable } from "../trace/uncompilable.ts";

/** Results of a step. */
export interface Step<C extends Tree, Y extends Tree, S extends Tree> {
  /** The state after the step, with the structure and shapes of the one before. */
  readonly carry: C;
  /** Values of every step. */
  readonly outputs?: Y;
  /** Values summed over the steps. */
  readonly sums?: S;
}

/** Options of {@linkcode scan}. */
export interface ScanOptions {
  /** Whether the loop is compiled, `true` by default; otherwise every operation of every step runs by itself. */
  compile?: boolean;
  /**
   * Whether the gradient keeps the state of every so many steps only and computes the others again: memory that grows
   * with the square root of the steps, for one more run of the loop. `false` by default.
   */
  checkpoint?: boolean;
  /**
   * Bytes that the values of many steps may take: what is computed ahead because it does not depend on the state, the
   * outputs and, for a gradient, the states. A loop with more runs in segments of time, and once more for its gradient.
   * A share of the device's by default.
   */
  memory?: number;
  /**
   * Executor of a compiled loop. `"fused"`: one kernel takes a few samples through many steps, for weights that caches hold.
   * `"stepped"`: each operation of a step is a kernel for all samples, for weights that are too large to be read again for
   * every few samples. Chosen from the shapes by default; {@linkcode explain} says which and why.
   */
  executor?: "fused" | "stepped";
}

/** Options of a {@linkcode Loop}. */
export interface LoopOptions<C extends Tree, X extends Tree> extends ScanOptions {
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

/** A loop whose body was traced: what serves other loops of the same graph, and what is its own. */
interface Traced<Y> {
  readonly structure: LoopStructure;
  /** Tensors that the body closes over. */
  readonly constants: readonly Tensor[];
  /** Outputs of a step, as symbols. */
  readonly outputs: Y;
}

/** A loop whose body is traced once, to be run again and again: compiled or, where that cannot be, step by step. */
export class Loop<C extends Tree, X extends Tree, Y extends Tree = undefined, S extends Tree = undefined> {
  readonly #body: (carry: C, row: X) => Step<C, Y, S>;
  readonly #sequences: X;
  readonly #options: LoopOptions<C, X>;
  /** Executor that runs it compiled, if it is to be. */
  readonly #executor: Executor | undefined;
  readonly #traced: Traced<Y> | undefined;

  /**
   * @param body A step, from the state and a row of each sequence.
   * @param carry A state like all that it will be given.
   * @param sequences Sequences along their first axis.
   * @throws {ShapeError} If the body returns a state unlike the one that it is given.
   * @throws {TypeError} If the memory is no number.
   */
  constructor(
    body: (carry: C, row: X) => Step<C, Y, S>,
    carry: C,
    sequences: X,
    options: LoopOptions<C, X> = {},
  ) {
    this.#body = body;
    this.#sequences = sequences;
    this.#options = options;
    if (Number.isNaN(Number(options.memory ?? 0))) {
      throw new TypeError(`scan: memory is ${options.memory}, expected a number of bytes`);
    }
    this.#executor = options.compile ?? true
      ? executorOf(treeLeaves(carry), treeLeaves(sequences), options.executor)
      : undefined;
    this.#traced = this.#executor &&
      hostSpan("tracing of a loop's body", () => this.#traceAlone(carry, this.#executor!));
  }

  /** The state after so many steps, the outputs of all along a new first axis, and the sums, none where they are zero. */
  run(carry: C, steps: number): { carry: C; outputs: Y; sums: readonly (Tensor | undefined)[] } {
    if (!this.#executor || !this.#traced) return this.#runBody(carry, steps);
    const { structure, constants, outputs } = this.#traced;
    const given = { initial: treeLeaves(carry), sequences: treeLeaves(this.#sequences), constants };
    const result = runTraced(structure, given, steps, this.#executor, this.#options);
    return {
      carry: withLeaves(carry, result.finals),
      outputs: withLeaves(outputs, result.outputs),
      sums: result.sums,
    };
  }

  /** Runs the body itself in every step. */
  #runBody(carry: C, steps: number): { carry: C; outputs: Y; sums: readonly (Tensor | undefined)[] } {
    // A number has no gradient, so only where nobody asks for one.
    const plain = new Map(
      treeLeaves(this.#sequences).map((
        x,
      ) => [x, x.rank === 1 && !isRecording() ? peekHostValues(x) : undefined]),
    );
    const outputs: Y[] = [];
    let sums: readonly Tensor[] = [];
    for (let step = 0; step < steps; step++) {
      // A time known on the host stays a number: a path then finds its piece without asking the device.
      const row = treeMap(this.#sequences, (x: Tensor) => {
        const value = plain.get(x)?.[step];
        return value === undefined ? x.select(0, step) : scalar(value, x.dtype);
      });
      const result = this.#body(carry, row);
      tensorsOfNext(carry, result.carry);
      carry = result.carry;
      outputs.push(result.outputs as Y);
      sums = treeLeaves(result.sums).map((own, i) => sums[i]?.add(own) ?? own);
    }
    const columns = outputs.map(treeLeaves);
    const stacked = columns[0]?.map((_, i) => stack(columns.map((column) => column[i]))) ?? [];
    return { carry, outputs: withLeaves(outputs[0], stacked), sums };
  }

  /** Nothing where the body reads what another loop's trace will compute: its operations become part of that one's body. */
  #traceAlone(carry: C, executor: Executor): Traced<Y> | undefined {
    try {
      return this.#trace(carry, executor);
    } catch (error) {
      if (!(error instanceof Uncompilable)) throw error;
    }
  }

  #trace(carry: C, executor: Executor): Traced<Y> {
    const { gradients, settled, keepsProducts = executor.keepsProducts } = this.#options;
    const trace = new GraphTrace();
    const sequences = treeLeaves(this.#sequences);
    const inputsFor = (list: readonly Tensor[], drop: number) =>
      list.map(({ shape, dtype }) => trace.input({ shape: shape.slice(drop), dtype }));
    const [state, rows] = [inputsFor(treeLeaves(carry), 0), inputsFor(sequences, 1)];
    const symbols = [
      withLeaves(carry, state.map(({ tensor }) => tensor)),
      withLeaves(this.#sequences, rows.map(({ tensor }) => tensor)),
    ] as const;
    const step = sharingResults(() => this.#body(...symbols));
    const nodesOf = (tree: unknown) => treeLeaves(tree).map((x) => trace.nodeOf(x));
    const body: TracedBody = {
      trace,
      keepsProducts,
      rows: rows.map(({ node }) => node),
      state: state.map(({ node }) => node),
      next: nodesOf(tensorsOfNext(carry, step.carry)),
      outputs: nodesOf(step.outputs),
      sums: nodesOf(step.sums),
      gradients: nodesOf(gradients?.(...symbols)),
      settled: nodesOf(settled?.(symbols[0])),
      followers: rows.flatMap(({ node }, i) =>
        rows.flatMap((other, j) =>
          isOneFurther(sequences[i], sequences[j]) ? [[node, other.node] as const] : []
        )
      ),
    };
    const found = trace.takeConstants();
    const structure = structureOf(body, found.map(({ node }) => node));
    return { structure, constants: found.map(({ tensor }) => tensor), outputs: step.outputs as Y };
  }
}

/** Bytes that values of all steps may take that a gradient could compute again: what a processor's caches hold. */
const maxKeptBytes = 2 ** 25;

/** Runs a loop compiled or, where that cannot be, step by step, and tells the gradient tapes of it. */
function runTraced(
  structure: LoopStructure,
  { sequences, constants, ...given }: Given,
  steps: number,
  executor: Executor,
  { checkpoint = false, memory = executor.memory }: ScanOptions,
): LoopResult {
  const { graph } = structure;
  const keepsBytes = executor.keepsProducts && !checkpoint ? Math.min(maxKeptBytes, memory) / steps : 0;
  const initial = [...given.initial, ...structure.firstCarried(sequences, constants)];
  const run: RunSteps = (initial, sequences, steps) => {
    const values = structure.values(sequences, constants);
    const split = structure.split(values, keepsBytes);
    return runRecorded(bind(split, values, steps), initial, executor, graph.outputs);
  };
  const values = structure.values(sequences, constants);
  try {
    const fitting = Math.floor(memory / Math.max(1, structure.split(values).bytesOfStep));
    const chosen = checkpoint && isRecording() ? Math.min(fitting, Math.ceil(Math.sqrt(steps))) : fitting;
    const segment = Math.max(1, chosen);
    if (segment >= steps) return run(initial, sequences, steps);
    const floats = constants.filter(({ dtype }) => isFloat(dtype));
    return runInSegments(run, { initial, sequences, constants: floats }, steps, segment);
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
    return runStepByStep(graph, values, initial, steps);
  }
}

/**
 * Runs a loop compiled and tells the gradient tapes of it.
 *
 * @param returned Nodes of the outputs.
 */
function runRecorded(
  loop: GraphLoop,
  initial: readonly Tensor[],
  executor: Executor,
  returned: readonly Node[],
): LoopResult {
  const { split, steps } = loop;
  const result = runLoop(loop, initial, executor);
  const { finals, outputs, sums } = result;
  const found = { ...result, outputs: outputsOf(loop, returned, outputs) };
  if (!isRecording()) return found;
  const { state } = split.graph;
  const read = [...loop.rows, ...closedOver(loop)];
  const inputs = [...initial, ...read.map(([, tensor]) => tensor)];
  const totals = sums.filter((sum) => sum !== undefined);
  record(inputs, [...finals, ...outputs, ...totals], (cotangents, wanted) => {
    const stepByStep = () =>
      gradientsOfInputs(
        () => {
          const graph = { ...split.graph, outputs: split.outputs };
          // No more than the loop read: what it made anew of those has its gradient through them.
          const values = new Map(
            [...split.rows, ...split.fixed].map((node) => [node, loop.values.get(node)!]),
          );
          const { finals, outputs, sums } = runStepByStep(graph, values, initial, steps);
          return [...finals, ...outputs, ...sums.filter((_, i) => result.sums[i]) as Tensor[]];
        },
        inputs,
        wanted,
        cotangents,
      );
    // The gradient of a gradient needs every operation on the outer tape.
    if (isRecording()) return stepByStep();
    const [ofFinals, ofOutputs, ofTotals] = [
      cotangents.slice(0, finals.length),
      cotangents.slice(finals.length, finals.length + outputs.length),
      cotangents.slice(finals.length + outputs.length),
    ];
    const outputOf = (node: Node): Tensor | undefined => outputs[split.outputs.indexOf(node)];
    try {
      return tidy(() => {
        const gradients = reverseLoop(loop, {
          saved: state.map(outputOf),
          kept: split.graph.kept.map((node) => outputOf(node)!),
          last: finals,
          finals: finals.map((x, i) => ofFinals[i] ?? x.zerosLike()),
          outputs: ofOutputs,
          sums: sums.map((sum) => sum && ofTotals[totals.indexOf(sum)]),
          wanted: read.map(([node]) => node).filter((_, i) => wanted[state.length + i]),
        }, executor);
        return [...state, ...read.map(([node]) => node)].map((node) => gradients.get(node));
      });
    } catch (error) {
      if (!(error instanceof Uncompilable)) throw error;
      warnOnce(error);
      return stepByStep();
    }
  });
  return found;
}
