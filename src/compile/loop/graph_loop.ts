/** Loops with values, run by an executor or step by step. */
import { isCapturing, withoutDeferring } from "../../device/capture.ts";
import { isFloat } from "../../device/dtype.ts";
import { postOrder } from "../../device/scalar/post_order.ts";
import { span } from "../../device/profiler.ts";
import { sizeOf } from "../../device/shape.ts";
import { materialize } from "../../device/view.ts";
import { stack } from "../../tensor/functions.ts";
import { apply, type Batched, deviceOf, isRecording } from "../../tensor/primitive.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { evaluateAllSteps } from "../trace/vectorize.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { evaluate, literal, type LoopNodes, type Node, topological } from "../trace/graph.ts";
import type { Sum } from "../program/lower/values.ts";
import type { Executor, Run, RunResult } from "../executors/run.ts";
import type { HoistedLoop, LoopGraph } from "./hoisted_loop.ts";
import { areSettled, stepsTaken } from "./ending.ts";
import { loweredOf } from "./lowered_loop.ts";
import { alongBatch } from "../../tensor/batching.ts";

/** A loop and its values. */
export interface GraphLoop {
  readonly hoistedLoop: HoistedLoop;
  readonly steps: number;
  /** Values that were given, and values computed before the loop. */
  readonly values: ReadonlyMap<Node, Batched>;
  /** Values that the loop reads one row of in each step. */
  readonly rows: ReadonlyMap<Node, Tensor>;
  /** Loop-invariant values that the loop reads. */
  readonly invariants: ReadonlyMap<Node, Tensor>;
}

/** Results of a loop in the shapes of their nodes. Outputs have the steps as the first axis. */
export interface LoopResult {
  readonly finals: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Number of steps. */
  readonly steps: number;
  /** Undefined if a sum is zero. */
  readonly sums: readonly (Tensor | undefined)[];
}

/** Whether a tensor, or a part of it, is a symbol of `jvp`. */
function hasTangents({ storage }: Tensor): boolean {
  if (!(storage instanceof Symbolic) || !(storage.trace instanceof Transformation)) return false;
  return !storage.trace.isBatch || storage.parts.some((part) => part instanceof Tensor && hasTangents(part));
}

/**
 * Computes the hoisted values of a loop.
 *
 * @param values Values of the given nodes. The computed values are added.
 * @throws {Uncompilable} If an operation cannot be computed for all steps at once.
 */
export function bindLoop(
  hoistedLoop: HoistedLoop,
  values: Map<Node, Batched>,
  steps: number,
  { evaluateHoisted }: Pick<Executor, "evaluateHoisted">,
): GraphLoop {
  if (hoistedLoop.hoisted.length > 0) {
    span(
      () => ({
        kind: "batched pass",
        name: `${hoistedLoop.hoisted.length} operations for ${steps} steps at once`,
      }),
      () => {
        // Fused operations have no tangents.
        const isDifferentiated = [...values.values()].some(({ tensor }) => hasTangents(tensor));
        if (!isDifferentiated) evaluateHoisted(hoistedLoop, values, steps);
        else evaluateAllSteps(topological(hoistedLoop.hoisted, values), values, steps);
      },
    );
  }
  const tensorsOf = (nodes: readonly Node[]) =>
    new Map(nodes.map((node) => [node, values.get(node)!.tensor]));
  return {
    hoistedLoop,
    steps,
    values,
    rows: tensorsOf(hoistedLoop.rows),
    invariants: tensorsOf(hoistedLoop.invariants),
  };
}

/** The loop-invariant floating-point tensors that a loop reads, by node. */
export function closedOver({ invariants }: GraphLoop): [node: Node, tensor: Tensor][] {
  return [...invariants].filter(([node]) => isFloat(node.dtype));
}

/**
 * Runs a compiled loop. The outputs are in the order of {@linkcode HoistedLoop.outputs}.
 *
 * @throws {Uncompilable} If the loop cannot be compiled. No kernel has run then.
 */
export function runLoop(loop: GraphLoop, initial: readonly Tensor[], execute: Executor): LoopResult {
  const { hoistedLoop } = loop;
  const { state, ending } = hoistedLoop.graph;
  const { batch: samples, program: whole, inputs, outputs, sums } = loweredOf(hoistedLoop);
  const { program, parts } = execute.splitSamples(whole);
  const batch = samples * parts;
  const tensorOf = (node: Node): Tensor => {
    const position = state.indexOf(node);
    return position >= 0 ? initial[position] : loop.rows.get(node) ?? loop.invariants.get(node)!;
  };
  const tensors = inputs.map(tensorOf);
  const device = deviceOf("scan", tensors, execute.device);
  const views = withoutDeferring(() => tensors.map(({ view }) => materialize(device, view)));
  // If the whole state is one sample, the flag of the first sample must not end the others. A gradient must know the number of
  // steps.
  const hasFlags = ending !== undefined && sizeOf(state[ending.settled].shape) === batch;
  const canRead = device.readSync !== undefined && !isCapturing();
  const endsEarly = hasFlags && (canRead || !isRecording());
  const run = {
    program,
    batch,
    steps: loop.steps,
    inputs: views,
    settled: endsEarly ? ending.settled : undefined,
  };
  observer?.(loop, run, execute);
  const direction = hoistedLoop.graph.backward ? "backward" : "forward";
  const result = span(
    () => ({ kind: "loop", name: `${direction}, ${loop.steps} steps of ${batch} samples` }),
    () => withoutDeferring(() => execute(run)),
  );
  const summed = sumsFrom(sums, result, (node) => node.kind === "literal" ? literal(node) : tensorOf(node));
  const finals = result.finals.map((view, i) => new Tensor(view).reshape(state[i].shape));
  const taken = ending && stepsTaken(initial[ending.count], finals[ending.count]);
  const steps = Math.min(loop.steps, taken ?? loop.steps);
  return {
    finals,
    steps,
    outputs: outputs.map(({ from, position }, i) => {
      const rows = new Tensor(result[from][position]).reshape([loop.steps, ...hoistedLoop.outputs[i].shape]);
      return steps < loop.steps ? rows.slice(0, 0, steps) : rows;
    }),
    sums: sums.map((sum) => sum && summed.get(sum)),
  };
}

/** The values of a loop's sums and of the operations on sums. */
function sumsFrom(
  sums: readonly Sum[],
  { sums: totals, weightGradients }: RunResult,
  tensorOf: (node: Node) => Tensor,
): Map<Sum | Node, Tensor> {
  const values = new Map<Sum | Node, Tensor>();
  const order = postOrder<Sum | Node>(
    sums,
    (sum) => sum && "from" in sum && sum.from === "after the loop" ? sum.inputs : [],
  );
  for (const sum of order) {
    if (!sum) continue;
    if (!("from" in sum)) values.set(sum, tensorOf(sum));
    else if (sum.from === "after the loop") {
      const { node: { primitive, params }, inputs } = sum;
      values.set(sum, apply(primitive, inputs.map((input) => values.get(input)!), params));
    } else {
      const views = sum.from === "sum" ? totals : weightGradients;
      values.set(sum, new Tensor(views[sum.position]).reshape(sum.shape));
    }
  }
  return values;
}

/** Outputs of a loop's graph: computed by the loop, or hoisted. */
export function outputsOf(
  { hoistedLoop, steps, values }: GraphLoop,
  nodes: readonly Node[],
  computed: readonly Tensor[],
): Tensor[] {
  return nodes.map((node) => {
    const position = hoistedLoop.outputs.indexOf(node);
    if (position >= 0) return computed[position];
    return alongBatch(
      node.kind === "literal" ? { tensor: literal(node), varies: false } : values.get(node)!,
      steps,
    );
  });
}

/** Runs a loop as tensor operations, if it cannot be compiled or its gradient is differentiated. */
export function runStepByStep(
  { state, next, outputs, sums, ending }: LoopNodes & Pick<LoopGraph, "ending">,
  values: ReadonlyMap<Node, Batched>,
  initial: readonly Tensor[],
  steps: number,
): LoopResult {
  let finals = initial;
  const produced: Tensor[][] = [];
  const totals: (Tensor | undefined)[] = sums.map(() => undefined);
  const nodes = topological([...next, ...outputs, ...sums], values);
  const inputs = nodes.filter((node) => values.has(node));
  for (let step = 0; step < steps; step++) {
    const own = new Map<Node, Tensor>(inputs.map((node) => {
      const { tensor, varies } = values.get(node)!;
      return [node, varies ? tensor.select(0, step) : tensor];
    }));
    state.forEach((node, i) => own.set(node, finals[i]));
    evaluate(nodes, own);
    const of = (node: Node) => own.get(node)!;
    finals = next.map(of);
    produced.push(outputs.map(of));
    sums.forEach((node, i) => totals[i] = totals[i]?.add(of(node)) ?? of(node));
    if (ending && areSettled(finals[ending.settled])) break;
  }
  return {
    finals,
    outputs: outputs.map((_, i) => stack(produced.map((list) => list[i]))),
    steps: produced.length,
    sums: totals,
  };
}

/** Called with every loop before it runs. */
type Observer = (loop: GraphLoop, run: Run, execute: Executor) => void;

let observer: Observer | undefined;

/** Runs `body`, and calls an observer with every loop that runs. */
export function observeLoops(watch: Observer, body: () => void): void {
  const before = observer;
  observer = watch;
  try {
    body();
  } finally {
    observer = before;
  }
}
