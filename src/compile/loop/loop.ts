/**
 * The loop of `scan` and of all solvers. The body is traced to a graph. All that depends on the graph alone (hoisted operations,
 * programs, the reverse loop) is cached for loops with the same graph.
 */
import { isFloat } from "../../device/dtype.ts";
import { hostSpan } from "../../device/profiler.ts";
import { scalar } from "../../tensor/creation.ts";
import { stack } from "../../tensor/functions.ts";
import { peekHostValues } from "../../tensor/host.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import {
  isRecording,
  record,
  traceOf,
  tracingGraph,
  withCommonSubexpressions,
} from "../../tensor/primitive.ts";
import { tidy, tidyLater } from "../../tensor/scope.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap, withLeaves } from "../../tensor/tree.ts";
import { areSettled, type Ending } from "./ending.ts";
import { nextStateTensors } from "./next_state.ts";
import { isShiftedByRow } from "./loop_carried.ts";
import { executorOf } from "../executors/choose_executor.ts";
import { GraphTrace, type Node } from "../trace/graph.ts";
import { cachedTrace, type TraceOfBody } from "./cached_traces.ts";
import {
  bindLoop,
  closedOver,
  type GraphLoop,
  type LoopResult,
  outputsOf,
  runLoop,
  runStepByStep,
} from "./graph_loop.ts";
import { type LoopStructure, structureOf } from "./loop_structure.ts";
import { reverseLoop } from "./reverse_loop.ts";
import type { Executor } from "../executors/run.ts";
import {
  gradientsOfInputs,
  type LoopArguments,
  recomputeForGradient,
  recomputeStepForGradient,
  runInSegments,
  type RunSteps,
} from "./segments.ts";
import { type PartLists, type RunParts, runTransformed } from "./transformed_loop.ts";
import { Uncompilable, warnOnce } from "../trace/uncompilable.ts";

import type { LoopOptions, ScanOptions, Step } from "./loop_options.ts";

export type { Closure, ScanOptions, Step } from "./loop_options.ts";
export { TracedFunction } from "../trace/traced_function.ts";
export { Uncompilable } from "../trace/uncompilable.ts";

/** Results of a loop. */
interface LoopRun<C, Y> {
  readonly carry: C;
  /** Outputs of all steps, stacked along a new first axis. */
  readonly outputs: Y;
  readonly sums: readonly (Tensor | undefined)[];
  /** Number of steps. */
  readonly steps: number;
}

/** A traced loop: the structure, which loops with the same graph share, and the values of this loop. */
interface Traced<Y> {
  readonly structure: LoopStructure;
  /** Tensors that the body closes over. */
  readonly constants: readonly Tensor[];
  /** Outputs of a step, as symbols. */
  readonly outputs: Y;
}

/** A loop whose body is traced once and run many times: compiled, or step by step if it cannot be compiled. */
export class Loop<C extends Tree, X extends Tree, Y extends Tree = undefined, S extends Tree = undefined> {
  readonly #body: (carry: C, row: X) => Step<C, Y, S>;
  readonly #sequences: X;
  readonly #options: LoopOptions<C, X>;
  /** Undefined if the loop runs step by step. */
  readonly #executor: Executor | undefined;
  readonly #traced: Traced<Y> | undefined;

  /**
   * @param body A step, from the state and a row of each sequence.
   * @param carry A state with the structure, shapes and types of all later states.
   * @param sequences Sequences along their first axis.
   * @throws {ShapeError} If the body returns a state of another structure, shape or type.
   * @throws {TypeError} If `memory` is not a number.
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
    const { memory = 0 } = options;
    if (memory !== "constant" && Number.isNaN(Number(memory))) {
      throw new TypeError(`scan: memory is ${memory}, expected a number of bytes or "constant"`);
    }
    this.#executor = options.compile ?? true
      ? executorOf(treeLeaves(carry), treeLeaves(sequences), options.executor)
      : undefined;
    this.#traced = this.#executor &&
      hostSpan("tracing of a loop's body", () => this.#trace(carry, this.#executor!));
  }

  /** Returns the state after `steps` steps, or at most as many if the loop has an end, the stacked outputs, and the sums, undefined if they are zero. */
  run(carry: C, steps: number): LoopRun<C, Y> {
    const transformed = this.#runTransformed(carry, steps);
    if (transformed) return transformed;
    if (!this.#executor || !this.#traced) return this.#runBody(carry, steps);
    const { structure, constants, outputs } = this.#traced;
    const args = { initial: treeLeaves(carry), sequences: treeLeaves(this.#sequences), constants };
    return asTrees(carry, outputs, runTraced(structure, args, steps, this.#executor, this.#options));
  }

  /** Runs the loop inside `jvp` or `vmap`. Returns undefined if no input is a symbol of such a transformation. */
  #runTransformed(carry: C, steps: number): LoopRun<C, Y> | undefined {
    const [initial, sequences] = [treeLeaves(carry), treeLeaves(this.#sequences)];
    const inputs = [...initial, ...sequences];
    if (!(traceOf([...inputs, ...this.#traced?.constants ?? []]) instanceof Transformation)) return undefined;
    const { compile = true } = this.#options;
    const traced = compile ? unlessUncompilable(() => this.#traceBody(carry)) : undefined;
    if (!traced) return this.#runBody(carry, steps);
    const { closedOver, outputs } = traced;
    const constants = closedOver.map(({ tensor }) => tensor);
    const trace = traceOf([...inputs, ...constants]) as Transformation;
    const nodes = closedOver.map(({ node }) => node);
    const { ending: ends, state } = traced.body;
    const ending = this.#options.ending && ((carry: PartLists): Ending => {
      const [settled, count] = ends.map((node) => carry[state.indexOf(node)][0]);
      return [settled, count];
    });
    const run = runPartsOf(this.#options, steps, ending);
    const result = runTransformed(trace, traced.body, nodes, { initial, sequences, constants }, run);
    return result ? asTrees(carry, outputs, result) : this.#runBody(carry, steps);
  }

  /** Runs the body itself in every step. */
  #runBody(carry: C, steps: number): LoopRun<C, Y> {
    // Numbers of the host have no gradient, so they are used only if no tape records.
    const plain = new Map(
      treeLeaves(this.#sequences).map((
        x,
      ) => [
        x,
        x.rank === 1 && !isRecording() && !(x.storage instanceof Symbolic) ? peekHostValues(x) : undefined,
      ]),
    );
    const outputs: Y[] = [];
    let sums: readonly Tensor[] = [];
    const { ending, checkpoint, closure } = this.#options;
    const constants = checkpoint && isRecording() ? closure?.tensors : undefined;
    const firstCarry = carry;
    let release: (wanted: unknown) => void = () => {};
    for (let step = 0; step < steps; step++) {
      if (ending && step > 0 && areSettled(ending(carry)[0])) break;
      // A time that is known on the host stays a number: a path then finds its interval without reading from the device.
      const row = treeMap(this.#sequences, (x: Tensor) => {
        const value = plain.get(x)?.[step];
        return value === undefined ? x.select(0, step) : scalar(value, x.dtype);
      });
      const [from, before]: [C, readonly Tensor[]] = [carry, sums];
      const { result, release: releaseNext } = tidyLater(() => {
        const take = () => this.#body(from, row);
        const result = constants
          ? recomputeStepForGradient([...treeLeaves([from, row]), ...constants], take)
          : take();
        nextStateTensors(from, result.carry);
        return { ...result, sums: treeLeaves(result.sums).map((own, i) => before[i]?.add(own) ?? own) };
      });
      ({ carry, sums } = result);
      outputs.push(result.outputs as Y);
      // Outputs can share tensors with the state before and after their step alone.
      release([firstCarry, carry, sums, outputs.slice(-2)]);
      release = releaseNext;
    }
    const columns = outputs.map(treeLeaves);
    const stacked = columns[0]?.map((_, i) => stack(columns.map((column) => column[i]))) ?? [];
    return { carry, outputs: withLeaves(outputs[0], stacked), sums, steps: outputs.length };
  }

  /**
   * Traces the body. Returns `undefined` if the body reads symbols of an outer loop: its operations then become part of the
   * body of that loop.
   */
  #trace(carry: C, executor: Executor): Traced<Y> | undefined {
    const traced = unlessUncompilable(() => this.#traceBody(carry));
    if (!traced) return undefined;
    const { body, closedOver, outputs, structures } = traced;
    const { keepsProducts = executor.keepsProducts } = this.#options;
    // The text of the graph cannot be the key, because the reverse loop adds nodes to it.
    let structure = structures.get(keepsProducts);
    if (!structure) {
      structure = structureOf({ ...body, keepsProducts }, closedOver.map(({ node }) => node));
      structures.set(keepsProducts, structure);
    }
    return { structure, constants: closedOver.map(({ tensor }) => tensor), outputs };
  }

  /** The trace of the body, or of an earlier body of the same origin. */
  #traceBody(carry: C): TraceOfBody<Y> {
    const { closure } = this.#options;
    const inputs = [...treeLeaves(carry), ...treeLeaves(this.#sequences)];
    if (!closure) return this.#traceUncached(carry);
    return cachedTrace(closure, inputs, () => this.#traceUncached(carry)) as TraceOfBody<Y>;
  }

  #traceUncached(carry: C): TraceOfBody<Y> {
    const { gradients, ending } = this.#options;
    const trace = new GraphTrace();
    const sequences = treeLeaves(this.#sequences);
    const inputsFor = (list: readonly Tensor[], drop: number) =>
      list.map(({ shape, dtype }) => trace.input({ shape: shape.slice(drop), dtype }));
    const [state, rows] = [inputsFor(treeLeaves(carry), 0), inputsFor(sequences, 1)];
    const symbols = [
      withLeaves(carry, state.map(({ tensor }) => tensor)),
      withLeaves(this.#sequences, rows.map(({ tensor }) => tensor)),
    ] as const;
    const step = tracingGraph(() => withCommonSubexpressions(() => this.#body(...symbols)));
    const nodesOf = (tree: unknown) => treeLeaves(tree).map((x) => trace.nodeOf(x));
    const body = {
      trace,
      rows: rows.map(({ node }) => node),
      state: state.map(({ node }) => node),
      next: nodesOf(nextStateTensors(carry, step.carry)),
      outputs: nodesOf(step.outputs),
      sums: nodesOf(step.sums),
      gradients: nodesOf(gradients?.(...symbols)),
      ending: nodesOf(ending && [...ending(symbols[0])]),
      shiftedRows: rows.flatMap(({ node }, i) =>
        rows.flatMap((other, j) =>
          isShiftedByRow(sequences[i], sequences[j]) ? [[node, other.node] as const] : []
        )
      ),
    };
    trace.end();
    return { body, closedOver: trace.popConstants(), outputs: step.outputs as Y, structures: new Map() };
  }
}

/** Runs loops over the parts of symbols. */
function runPartsOf(
  { compile, checkpoint, memory, executor, keepsProducts, closure }: Omit<
    LoopOptions<Tree, Tree>,
    "gradients" | "ending"
  >,
  steps: number,
  ending?: (carry: PartLists) => Ending,
): RunParts {
  const options = { compile, checkpoint, memory, executor, keepsProducts };
  return (body, carry, rows, gradients, { key, tensors }) => {
    const ofParts = closure && { key: `${closure.key}\n${key}`, tensors };
    return new Loop(body, carry, rows, { ...options, gradients, ending, closure: ofParts }).run(carry, steps);
  };
}

/** Results of a loop, with the structure of the caller's state and outputs. */
function asTrees<C, Y>(carry: C, outputs: Y, result: LoopResult): LoopRun<C, Y> {
  return {
    carry: withLeaves(carry, result.finals),
    outputs: withLeaves(outputs, result.outputs),
    sums: result.sums,
    steps: result.steps,
  };
}

function unlessUncompilable<T>(body: () => T): T | undefined {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
  }
}

/** Limit in bytes for residuals that a gradient could compute again: the size of a processor's caches. */
const maxResidualBytes = 2 ** 25;

/** Runs a loop compiled, or step by step if it cannot be compiled, and records it on the gradient tapes. */
function runTraced(
  structure: LoopStructure,
  { sequences, constants, ...args }: LoopArguments,
  steps: number,
  executor: Executor,
  options: ScanOptions,
): LoopResult {
  const { checkpoint = false, memory: wanted = executor.memory } = options;
  const memory = wanted === "constant" ? executor.constantMemory : wanted;
  const { graph } = structure;
  const residualBytes = executor.keepsProducts && !checkpoint
    ? Math.min(maxResidualBytes, memory) / steps
    : 0;
  const initial = [...args.initial, ...structure.initialLoopCarried(sequences, constants)];
  const run: RunSteps = (initial, sequences, steps) => {
    const values = structure.values(sequences, constants);
    const hoistedLoop = structure.hoist(values, residualBytes);
    const loop = bindLoop(hoistedLoop, values, steps, executor);
    return runRecorded(loop, initial, executor, graph.outputs, options);
  };
  const values = structure.values(sequences, constants);
  const floats = constants.filter(({ dtype }) => isFloat(dtype));
  try {
    const fitting = Math.floor(memory / Math.max(1, structure.hoist(values).bytesOfStep));
    const chosen = checkpoint && isRecording() ? Math.min(fitting, Math.ceil(Math.sqrt(steps))) : fitting;
    const segment = Math.max(1, chosen);
    if (graph.ending) {
      const most = Math.min(steps, fitting);
      return checkpoint && isRecording()
        ? recomputeForGradient([...initial, ...sequences, ...floats], () => run(initial, sequences, most))
        : run(initial, sequences, most);
    }
    if (segment >= steps) return run(initial, sequences, steps);
    return runInSegments(run, { initial, sequences, constants: floats }, steps, segment);
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
    return runStepByStep(graph, values, initial, steps);
  }
}

/**
 * Runs a compiled loop and records it on the gradient tapes.
 *
 * @param returned Nodes of the outputs.
 */
function runRecorded(
  loop: GraphLoop,
  initial: readonly Tensor[],
  executor: Executor,
  returned: readonly Node[],
  { compile, executor: kind }: ScanOptions,
): LoopResult {
  const { hoistedLoop } = loop;
  const result = runLoop(loop, initial, executor);
  const { finals, outputs, sums, steps } = result;
  const run = { ...result, outputs: outputsOf({ ...loop, steps }, returned, outputs) };
  if (!isRecording()) return run;
  const { state } = hoistedLoop.graph;
  const read = [...loop.rows, ...closedOver(loop)];
  const inputs = [...initial, ...read.map(([, tensor]) => tensor)];
  const totals = sums.filter((sum) => sum !== undefined);
  record(inputs, [...finals, ...outputs, ...totals], (cotangents, wanted) => {
    const stepByStep = () =>
      gradientsOfInputs(
        () => {
          const graph = { ...hoistedLoop.graph, outputs: hoistedLoop.outputs };
          // Only values that the loop read: all other values get their gradients through them.
          const values = new Map(
            [...hoistedLoop.rows, ...hoistedLoop.invariants].map((node) => [node, loop.values.get(node)!]),
          );
          const { finals, outputs, sums } = runStepByStep(graph, values, initial, steps);
          return [...finals, ...outputs, ...sums.filter((_, i) => result.sums[i]) as Tensor[]];
        },
        inputs,
        wanted,
        cotangents,
      );
    // For the gradient of a gradient, the outer tape must record every operation.
    if (isRecording()) return stepByStep();
    const [ofFinals, ofOutputs, ofTotals] = [
      cotangents.slice(0, finals.length),
      cotangents.slice(finals.length, finals.length + outputs.length),
      cotangents.slice(finals.length + outputs.length),
    ];
    const outputOf = (node: Node): Tensor | undefined => outputs[hoistedLoop.outputs.indexOf(node)];
    try {
      return tidy(() => {
        const gradients = reverseLoop(
          { ...loop, steps },
          {
            saved: state.map(outputOf),
            residuals: hoistedLoop.graph.residuals.map((node) => outputOf(node)!),
            last: finals,
            finals: finals.map((x, i) => ofFinals[i] ?? x.zerosLike()),
            outputs: ofOutputs,
            sums: sums.map((sum) => sum && ofTotals[totals.indexOf(sum)]),
            wanted: read.map(([node]) => node).filter((_, i) => wanted[state.length + i]),
          },
          executor,
          (steps) => runPartsOf({ compile, executor: kind }, steps),
        );
        return [...state, ...read.map(([node]) => node)].map((node) => gradients.get(node));
      });
    } catch (error) {
      if (!(error instanceof Uncompilable)) throw error;
      warnOnce(error);
      return stepByStep();
    }
  });
  return run;
}
