/**
 * A loop as a graph and the values that it is given: made from what a trace has recorded, and run by a device's executor.
 */
import { isFloat } from "../device/dtype.ts";
import { makeContiguous } from "../device/view.ts";
import { stack } from "../tensor/functions.ts";
import { apply } from "../tensor/primitive.ts";
import { matmul } from "../tensor/primitives/linear_algebra.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Executor, Run } from "./run.ts";
import { evaluate, literal, type Node, type OperationNode, topological } from "./graph.ts";
import { lower } from "./lower/lower.ts";
import type { Lowered, Sum } from "./lower/values.ts";
import { split } from "./split.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";
import { evaluateAllSteps, type Stepwise } from "./vectorize.ts";

/** A loop as nodes. */
export interface LoopNodes {
  readonly state: readonly Node[];
  /** The state after a step, in the order of `state`. */
  readonly next: readonly Node[];
  /** Values of every step. */
  readonly outputs: readonly Node[];
  /** Values summed over the steps. */
  readonly sums?: readonly Node[];
}

/** A loop with the values that it is given. */
export interface GraphLoop extends Required<LoopNodes> {
  /** The operations that run in every step, in order. */
  readonly body: readonly OperationNode[];
  /** Values of all steps, a row a step. */
  readonly rows: ReadonlyMap<Node, Tensor>;
  /** Values that are the same in all steps. */
  readonly fixed: ReadonlyMap<Node, Tensor>;
  /** Whether matrix products of each sample are left in the loop where they need not be. */
  readonly keepsProducts: boolean;
}

/**
 * Splits a loop and computes for all steps what does not depend on its state.
 *
 * @param stepwise The values of the loop's rows; it takes up those that are computed here.
 * @param options `held` names rows that count as state: what depends on them is left in the loop. With `keepsProducts` so is what
 * follows a matrix product of each sample: nothing of it is kept, and it is computed again for the gradient.
 */
export function makeLoop(
  nodes: LoopNodes,
  stepwise: Map<Node, Stepwise>,
  steps: number,
  { held = [], keepsProducts = false }: { held?: readonly Node[]; keepsProducts?: boolean } = {},
): GraphLoop {
  const { state, next, outputs, sums = [] } = nodes;
  const roots = [...next, ...outputs, ...sums];
  const stays = (node: OperationNode) => keepsProducts && isProductOfSamples(node, state[0]);
  const { body, before, read } = split(roots, new Set([...state, ...held]), new Set(stepwise.keys()), stays);
  evaluateAllSteps(before, stepwise, steps);
  const rows = new Map<Node, Tensor>();
  const fixed = new Map<Node, Tensor>();
  for (const node of [...held, ...read]) {
    const { tensor, varies } = stepwise.get(node)!;
    (varies ? rows : fixed).set(node, tensor);
  }
  return { body, state, next, outputs, sums, rows, fixed, keepsProducts };
}

/** Whether a node is a matrix product of each sample of a batch. */
export function isProductOfSamples({ primitive, shape }: OperationNode, state: Node): boolean {
  const [batch = 1] = state.shape;
  return primitive === matmul && shape[0] % batch === 0;
}

/** The float tensors that a loop's body closes over. */
export function closedOver({ body, next, fixed }: GraphLoop): { node: Node; tensor: Tensor }[] {
  const found = new Map<Node, Tensor>(fixed);
  for (const node of [...body.flatMap(({ inputs }) => inputs), ...next]) {
    if (node.kind === "constant") found.set(node, node.tensor);
  }
  return [...found].filter(([node]) => isFloat(node.dtype)).map(([node, tensor]) => ({ node, tensor }));
}

/** Options of a run. */
export interface LoopRunOptions {
  readonly steps: number;
  readonly batch: number;
  readonly execute: Executor;
  /** Inputs that are gradients: zero for samples that a tile lacks. */
  readonly gradients?: ReadonlySet<Node>;
  /** Whether the rows are taken from the last to the first. */
  readonly backward?: boolean;
  /** {@linkcode Run.settled}. */
  readonly settled?: number;
}

/** Results of a run: tensors in the shapes of their nodes, outputs with the steps in front. */
export interface LoopResult {
  readonly finals: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Nothing where a sum is zero. */
  readonly sums: readonly (Tensor | undefined)[];
}

/** @throws {Uncompilable} If an operation has no kernel, or samples mix. */
export function lowerLoop(
  loop: GraphLoop,
  { batch, gradients, backward = false }: Omit<LoopRunOptions, "execute">,
): Lowered {
  const { rows, fixed, ...nodes } = loop;
  return lower({
    ...nodes,
    batch,
    rows: [...rows.keys()],
    fixed: [...fixed.keys()],
    cotangents: gradients ?? new Set(),
    backward,
  });
}

/**
 * Runs a loop compiled.
 *
 * @throws {Uncompilable} As {@linkcode lowerLoop}; nothing has happened then.
 */
export function runLoop(loop: GraphLoop, initial: readonly Tensor[], options: LoopRunOptions): LoopResult {
  const { steps, batch, execute } = options;
  const { program, inputs, outputs, sums } = lowerLoop(loop, options);
  const tensorOf = (node: Node): Tensor => {
    const position = loop.state.indexOf(node);
    if (position >= 0) return initial[position];
    return loop.rows.get(node) ?? loop.fixed.get(node) ?? (node as Node & { kind: "constant" }).tensor;
  };
  const views = inputs.map((node) => {
    const tensor = tensorOf(node);
    return makeContiguous(tensor.device, tensor.view);
  });
  const run = { program, batch, steps, inputs: views, settled: options.settled };
  observer?.(loop, run, options);
  const result = execute(run);
  const summed = (sum: Sum): Tensor | undefined => {
    if (!sum) return undefined;
    if (sum.from === "sum") return new Tensor(result.sums[sum.position]).reshape(sum.shape);
    if (sum.from === "total") return new Tensor(result.totals[sum.position]).reshape(sum.shape);
    const { node, inputs } = sum;
    const values = inputs.map((input) => {
      if (!input || "from" in input) return summed(input)!;
      return input.kind === "literal" ? literal(input) : tensorOf(input);
    });
    return apply(node.primitive, values, node.params);
  };
  return {
    finals: result.finals.map((view, i) => new Tensor(view).reshape(loop.state[i].shape)),
    outputs: outputs.map(({ from, position }, i) =>
      new Tensor(result[from][position]).reshape([steps, ...loop.outputs[i].shape])
    ),
    sums: sums.map(summed),
  };
}

/** Is told of every loop before it runs. */
type Observer = (loop: GraphLoop, run: Run, options: LoopRunOptions) => void;

let observer: Observer | undefined;

/** Runs `body` with an observer of the loops that it runs. */
export function observeLoops(watch: Observer, body: () => void): void {
  const before = observer;
  observer = watch;
  try {
    body();
  } finally {
    observer = before;
  }
}

/** State larger than this is not taken for a single sample: one lane would do all the work. */
const maxSampleSize = 4096;

/**
 * The number of samples that a loop can be compiled for: the length of the states' first axis or, where that fails and
 * the state is small, one sample that is everything.
 *
 * @throws {Uncompilable} If neither is possible.
 */
export function batchOf(loop: GraphLoop, initial: readonly Tensor[], steps: number): number {
  const [batch = 1] = initial[0].shape;
  if (batch > 1 && initial.every((x) => x.shape[0] === batch)) {
    try {
      lowerLoop(loop, { batch, steps });
      return batch;
    } catch (error) {
      if (!(error instanceof Uncompilable) || initial.some((x) => x.size > maxSampleSize)) throw error;
    }
  }
  lowerLoop(loop, { batch: 1, steps });
  return 1;
}

/** Runs a loop compiled or, where that cannot be, step by step, and says so once. */
export function runCompiledOrNot(
  loop: GraphLoop,
  initial: readonly Tensor[],
  { executor, ...options }: Omit<LoopRunOptions, "execute" | "batch"> & { executor?: Executor },
): LoopResult {
  try {
    if (executor) {
      const batch = batchOf(loop, initial, options.steps);
      return runLoop(loop, initial, { ...options, batch, execute: executor });
    }
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
  }
  return runLoopStepByStep(loop, initial, options.steps);
}

/** The same loop as operations one after another: for what cannot be compiled, and to differentiate a gradient. */
export function runLoopStepByStep(loop: GraphLoop, initial: readonly Tensor[], steps: number): LoopResult {
  const { body, state, next, outputs, sums, rows, fixed } = loop;
  let finals = initial;
  const produced: Tensor[][] = [];
  const totals: (Tensor | undefined)[] = sums.map(() => undefined);
  const inBody = new Set<Node>(body);
  const needed = topological([...next, ...outputs, ...sums], { has: (node) => !inBody.has(node) });
  for (let step = 0; step < steps; step++) {
    const values = new Map<Node, Tensor>(fixed);
    state.forEach((node, i) => values.set(node, finals[i]));
    for (const [node, tensor] of rows) values.set(node, tensor.at(0, step));
    evaluate(needed, values);
    finals = next.map((node) => values.get(node)!);
    produced.push(outputs.map((node) => values.get(node)!));
    sums.forEach((node, i) => totals[i] = totals[i]?.add(values.get(node)!) ?? values.get(node)!);
  }
  return { finals, outputs: outputs.map((_, i) => stack(produced.map((list) => list[i]))), sums: totals };
}
