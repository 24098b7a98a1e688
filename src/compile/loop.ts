/**
 * A loop as one operation: its body is traced, split, lowered and run by the device's executor, and its gradient is a
 * loop of the same kind that runs backwards, made from the same gradient rules as everything else.
 */
import { isFloat } from "../device/dtype.ts";
import { vjp } from "../autodiff/grad.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { makeContiguous } from "../device/view.ts";
import { apply, isRecording, record } from "../tensor/primitive.ts";
import { stack } from "../tensor/functions.ts";
import { Tensor } from "../tensor/tensor.ts";
import { leaves, mapTree, type Tree } from "../tensor/tree.ts";
import type { Executor } from "./executor.ts";
import { reverse } from "./gradient.ts";
import { evaluate, GraphTrace, literal, type Node, type OperationNode, topological } from "./graph.ts";
import { lower, type Lowered, type Sum } from "./lower.ts";
import { split } from "./split.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";
import { alongSteps, evaluateAllSteps, type Stepwise } from "./vectorize.ts";

/** A body as `scan` takes it. */
export type Body<C extends Tree, X extends Tree, Y extends Tree> = (carry: C, x: X) => [carry: C, output: Y];

/** The part of a body that runs step by step, with the values that it is given. */
interface Prepared {
  readonly body: readonly OperationNode[];
  readonly state: readonly Node[];
  readonly next: readonly Node[];
  readonly outputs: readonly Node[];
  /** Values of all steps, a row a step. */
  readonly rows: ReadonlyMap<Node, Tensor>;
  /** Values that are the same in all steps. */
  readonly fixed: ReadonlyMap<Node, Tensor>;
}

/** State larger than this is not taken for a single sample: one lane would do all the work. */
const largestSample = 4096;

/**
 * Runs a loop compiled.
 *
 * @throws {Uncompilable} If the body cannot be compiled; nothing has happened then.
 */
export function runCompiled<C extends Tree, X extends Tree, Y extends Tree>(
  f: Body<C, X, Y>,
  init: C,
  xs: X,
  steps: number,
  execute: Executor,
): [carry: C, outputs: Y] {
  const trace = new GraphTrace();
  const initial = leaves(init);
  const sequences = leaves(xs);
  const state = initial.map((x) => trace.input({ shape: x.shape, dtype: x.dtype }));
  const given = sequences.map((x) => trace.input({ shape: x.shape.slice(1), dtype: x.dtype }));
  const [carry, output] = f(
    withLeaves(init, state.map(({ tensor }) => tensor)),
    withLeaves(xs, given.map(({ tensor }) => tensor)),
  );
  const carried = leaves(carry);
  checkCarry(initial, carried);
  const next = carried.map((x) => trace.nodeOf(x));
  const outputs = leaves(output).map((x) => trace.nodeOf(x));

  const stepwise = new Map<Node, Stepwise>(
    given.map(({ node }, i) => [node, { tensor: sequences[i], varies: true }]),
  );
  const stateNodes = state.map(({ node }) => node);
  const prepared = prepare(stateNodes, next, outputs, stepwise, steps);
  const inLoop = new Set<Node>([...stateNodes, ...prepared.body]);
  const looped = outputs.filter((node) => inLoop.has(node));
  const recording = isRecording();
  const forward = { ...prepared, outputs: recording ? [...looped, ...stateNodes] : looped };
  const { batch, lowered } = lowerForBatch(forward, initial, new Set());
  const result = runLowered(lowered, forward, initial, batch, steps, execute);
  const finals = result.finals.map((view, i) => new Tensor(view).reshape(initial[i].shape));
  const computed = new Map(
    looped.map((node, i) => [node, result.outputs[i].reshape([steps, ...node.shape])]),
  );
  const saved = result.outputs.slice(looped.length);

  if (recording) {
    const rows = [...prepared.rows];
    const constants = closedOver(prepared);
    const inputs = [
      ...initial,
      ...rows.map(([, tensor]) => tensor),
      ...constants.map(({ tensor }) => tensor),
    ];
    const produced = [...computed];
    record(inputs, [...finals, ...produced.map(([, tensor]) => tensor)], (cotangents, wanted) => {
      const stepByStep = () => {
        const { value, pullback } = vjp(() => runStepByStep(prepared, looped, initial, steps), inputs);
        return pullback(value.map((x: Tensor, i: number) => cotangents[i] ?? x.zerosLike()));
      };
      // The gradient of a gradient needs every operation on the outer tape.
      if (isRecording()) return stepByStep();
      try {
        return runBackward({
          prepared,
          saved,
          finals: finals.map((x, i) => cotangents[i] ?? x.zerosLike()),
          outputs: produced.map(([node], i) => [node, cotangents[finals.length + i]]),
          wantedRows: rows.filter((_, i) => wanted[initial.length + i]).map(([node]) => node),
          wantedConstants: constants.filter((_, i) => wanted[initial.length + rows.length + i]),
          inputs: [...stateNodes, ...rows.map(([node]) => node), ...constants],
          batch,
          steps,
          execute,
        });
      } catch (error) {
        if (!(error instanceof Uncompilable)) throw error;
        warnOnce(error);
        return stepByStep();
      }
    });
  }
  const stacked = outputs.map((node) =>
    computed.get(node) ?? alongSteps(valueOf(node, prepared, stepwise), steps)
  );
  return [withLeaves(init, finals), withLeaves(output, stacked)];
}

function valueOf(node: Node, { rows }: Prepared, stepwise: ReadonlyMap<Node, Stepwise>): Stepwise {
  const row = rows.get(node);
  if (row) return { tensor: row, varies: true };
  if (node.kind === "constant") return { tensor: node.tensor, varies: false };
  if (node.kind === "literal") return { tensor: literal(node), varies: false };
  return stepwise.get(node)!;
}

function checkCarry(initial: readonly Tensor[], carried: readonly Tensor[]): void {
  const differs = carried.length !== initial.length ||
    carried.some((x, i) => !sameShape(x.shape, initial[i].shape) || x.dtype !== initial[i].dtype);
  if (!differs) return;
  const describe = (list: readonly Tensor[]) =>
    list.map((x) => `${x.dtype} ${formatShape(x.shape)}`).join(", ");
  throw new ShapeError(
    `scan: the body must return a state like the one that it is given: ${describe(initial)}, got ${
      describe(carried)
    }`,
  );
}

function withLeaves<T extends Tree>(tree: T, tensors: readonly Tensor[]): T {
  let position = 0;
  return mapTree(tree, () => tensors[position++]);
}

/** Splits a body and computes what need not be in the loop. */
function prepare(
  state: readonly Node[],
  next: readonly Node[],
  outputs: readonly Node[],
  stepwise: Map<Node, Stepwise>,
  steps: number,
): Prepared {
  const { body, before, read } = split([...next, ...outputs], new Set(state), new Set(stepwise.keys()));
  evaluateAllSteps(before, stepwise, steps);
  const rows = new Map<Node, Tensor>();
  const fixed = new Map<Node, Tensor>();
  for (const node of read) {
    const { tensor, varies } = stepwise.get(node)!;
    (varies ? rows : fixed).set(node, tensor);
  }
  return { body, state, next, outputs, rows, fixed };
}

/** The tensors that a loop's body closes over, as their nodes. */
function closedOver({ body, next, fixed }: Prepared): { node: Node; tensor: Tensor }[] {
  const found = new Map<Node, Tensor>(fixed);
  for (const node of [...body.flatMap(({ inputs }) => inputs), ...next]) {
    if (node.kind === "constant") found.set(node, node.tensor);
  }
  return [...found].filter(([node]) => isFloat(node.dtype)).map(([node, tensor]) => ({ node, tensor }));
}

interface LoopParts extends Prepared {
  readonly sums?: readonly Node[];
}

/** Lowers for the batch that the states' first axis names, or else for one sample that is everything. */
function lowerForBatch(
  parts: LoopParts,
  initial: readonly Tensor[],
  cotangents: ReadonlySet<Node>,
): { batch: number; lowered: Lowered } {
  const [batch = 1] = initial[0].shape;
  const isBatch = batch > 1 && initial.every((x) => x.shape[0] === batch);
  if (isBatch) {
    try {
      return { batch, lowered: lowerParts(parts, batch, cotangents, false) };
    } catch (error) {
      const isSmall = initial.every((x) => x.size <= largestSample);
      if (!(error instanceof Uncompilable) || !isSmall) throw error;
    }
  }
  return { batch: 1, lowered: lowerParts(parts, 1, cotangents, false) };
}

function lowerParts(
  parts: LoopParts,
  batch: number,
  cotangents: ReadonlySet<Node>,
  backward: boolean,
): Lowered {
  const { body, state, next, outputs, sums = [], rows, fixed } = parts;
  return lower({
    batch,
    body,
    state,
    next,
    outputs,
    sums,
    rows: [...rows.keys()],
    fixed: [...fixed.keys()],
    cotangents,
    backward,
  });
}

interface LoweredResult {
  readonly finals: readonly Tensor["view"][];
  readonly outputs: readonly Tensor[];
  readonly sums: readonly (Tensor | undefined)[];
}

function runLowered(
  { program, inputs, sums, outputs }: Lowered,
  parts: LoopParts,
  initial: readonly Tensor[],
  batch: number,
  steps: number,
  execute: Executor,
): LoweredResult {
  const tensorOf = (node: Node): Tensor => {
    const position = parts.state.indexOf(node);
    if (position >= 0) return initial[position];
    return parts.rows.get(node) ?? parts.fixed.get(node) ?? (node as Node & { kind: "constant" }).tensor;
  };
  const views = inputs.map((node) => {
    const tensor = tensorOf(node);
    return makeContiguous(tensor.device, tensor.view);
  });
  const result = execute({ program, batch, steps, inputs: views });
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
    finals: result.finals,
    outputs: outputs.map(({ from, position }) => new Tensor(result[from][position])),
    sums: sums.map(summed),
  };
}

interface Backward {
  readonly prepared: Prepared;
  /** The states before each step. */
  readonly saved: readonly Tensor[];
  /** Gradients of the final states. */
  readonly finals: readonly Tensor[];
  /** Gradients of the outputs, if there are any. */
  readonly outputs: readonly [Node, Tensor | undefined][];
  readonly wantedRows: readonly Node[];
  readonly wantedConstants: readonly { node: Node; tensor: Tensor }[];
  /** What gradients are returned for, in order. */
  readonly inputs: readonly (Node | { node: Node })[];
  readonly batch: number;
  readonly steps: number;
  readonly execute: Executor;
}

/** The loop backwards: each step is computed again from the state saved before it, and then reversed. */
function runBackward(run: Backward): (Tensor | undefined)[] {
  const { prepared, saved, finals, wantedRows, wantedConstants, batch, steps, execute } = run;
  const trace = new GraphTrace();
  const values = new Map<Node, Tensor>();
  const stepwise = new Map<Node, Stepwise>();
  /** A symbol for a value that has a row in every step. */
  const rowInput = (node: Node, tensor: Tensor) => {
    const input = trace.input(node);
    stepwise.set(input.node, { tensor, varies: true });
    return input;
  };
  const savedStates = prepared.state.map((node, i) =>
    rowInput(node, saved[i].reshape([steps, ...node.shape]))
  );
  prepared.state.forEach((node, i) => values.set(node, savedStates[i].tensor));
  for (const [node, tensor] of prepared.rows) values.set(node, rowInput(node, tensor).tensor);
  for (const [node, tensor] of prepared.fixed) values.set(node, tensor);
  const needed = topological([...prepared.next, ...run.outputs.map(([node]) => node)], values);
  evaluate(needed, values);

  const cotangents = new Map<Node, Tensor>();
  const accumulate = (node: Node, gradient: Tensor) => {
    const before = cotangents.get(node);
    cotangents.set(node, before ? before.add(gradient) : gradient);
  };
  const arriving = prepared.next.map((node) => trace.input(node));
  prepared.next.forEach((node, i) => accumulate(node, arriving[i].tensor));
  const outputGradients: Node[] = [];
  for (const [node, gradient] of run.outputs) {
    if (!gradient) continue;
    const input = rowInput(node, gradient);
    outputGradients.push(input.node);
    accumulate(node, input.tensor);
  }
  const constantNodes = wantedConstants.map(({ node }) => node);
  reverse(prepared.body, values, cotangents, new Set([...prepared.state, ...wantedRows, ...constantNodes]));

  const nodeOf = (node: Node) => trace.nodeOf(cotangents.get(node) ?? values.get(node)!.zerosLike());
  const state = arriving.map(({ node }) => node);
  const next = prepared.state.map(nodeOf);
  const outputs = wantedRows.map(nodeOf);
  const sums = constantNodes.map(nodeOf);
  const savedNodes = savedStates.map(({ node }) => node);
  // The saved states are rows, but what depends on them must not be computed for all steps at once.
  const parts = {
    ...prepareBackward(state, savedNodes, [...next, ...outputs, ...sums], stepwise, steps),
    next,
    outputs,
    sums,
  };
  // What is computed from gradients before the loop is linear in them, and so a gradient too.
  const gradientNodes = new Set<Node>([...state, ...outputGradients]);
  for (const node of topological(parts.rows.keys())) {
    if (node.kind === "operation" && node.inputs.some((input) => gradientNodes.has(input))) {
      gradientNodes.add(node);
    }
  }
  const lowered = lowerParts(parts, batch, gradientNodes, true);
  const result = runLowered(lowered, parts, finals, batch, steps, execute);

  const gradients = new Map<Node, Tensor | undefined>();
  prepared.state.forEach((node, i) => gradients.set(node, new Tensor(result.finals[i]).reshape(node.shape)));
  wantedRows.forEach((node, i) => gradients.set(node, result.outputs[i].reshape([steps, ...node.shape])));
  constantNodes.forEach((node, i) => gradients.set(node, result.sums[i]));
  return run.inputs.map((input) => gradients.get("node" in input ? input.node : input));
}

function prepareBackward(
  state: readonly Node[],
  saved: readonly Node[],
  roots: readonly Node[],
  stepwise: Map<Node, Stepwise>,
  steps: number,
): Prepared {
  const keep = new Set([...state, ...saved]);
  const rowNodes = new Set([...stepwise.keys()]);
  const { body, before, read } = split(roots, keep, rowNodes);
  evaluateAllSteps(before, stepwise, steps);
  const rows = new Map<Node, Tensor>(saved.map((node) => [node, stepwise.get(node)!.tensor]));
  const fixed = new Map<Node, Tensor>();
  for (const node of read) {
    const { tensor, varies } = stepwise.get(node)!;
    (varies ? rows : fixed).set(node, tensor);
  }
  return { body, state, next: [], outputs: [], rows, fixed };
}

/** The prepared loop as operations one after another: what the gradient of a gradient differentiates. */
function runStepByStep(
  { body, state, next, rows, fixed }: Prepared,
  outputs: readonly Node[],
  initial: readonly Tensor[],
  steps: number,
): Tensor[] {
  let carried = initial;
  const produced: Tensor[][] = [];
  const needed = topological([...next, ...outputs], { has: (node) => !body.includes(node as OperationNode) });
  for (let step = 0; step < steps; step++) {
    const values = new Map<Node, Tensor>(fixed);
    state.forEach((node, i) => values.set(node, carried[i]));
    for (const [node, tensor] of rows) values.set(node, tensor.at(0, step));
    evaluate(needed, values);
    carried = next.map((node) => values.get(node)!);
    produced.push(outputs.map((node) => values.get(node)!));
  }
  return [...carried, ...outputs.map((_, i) => stack(produced.map((list) => list[i])))];
}
