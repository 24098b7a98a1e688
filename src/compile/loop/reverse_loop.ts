/** The gradient of a loop: a loop from the last step to the first, made with the gradient rules of the primitives. */
import { isFloat } from "../../device/dtype.ts";
import { sizeOf } from "../../device/shape.ts";
import { concatenate } from "../../tensor/functions.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { type Batched, traceOf } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { reverse } from "../trace/gradient.ts";
import { type ClosedOver, type Node, topological } from "../trace/graph.ts";
import { bindLoop, type GraphLoop, type LoopResult, outputsOf, runLoop } from "./graph_loop.ts";
import { chunksOf, runChunks } from "./chunks.ts";
import type { Executor } from "../executors/run.ts";
import { hoist, type HoistedLoop } from "./hoisted_loop.ts";
import { type RunParts, runTransformed } from "./transformed_loop.ts";

/** Cotangents of a loop's results, residuals, and the wanted gradients. */
interface LoopCotangents {
  /** The states before each step, `(steps, ...)`; undefined if the gradient does not read them. */
  readonly saved: readonly (Tensor | undefined)[];
  /** Values of {@linkcode LoopGraph.residuals}, `(steps, ...)`. */
  readonly residuals: readonly Tensor[];
  /** The states after the last step. */
  readonly last: readonly Tensor[];
  /** Gradients of the states after the last step. */
  readonly finals: readonly Tensor[];
  /** Gradients of {@linkcode HoistedLoop.outputs}, `(steps, ...)`; undefined if zero. */
  readonly outputs: readonly (Tensor | undefined)[];
  /** Gradients of the sums; undefined if zero. */
  readonly sums: readonly (Tensor | undefined)[];
  /** Rows and invariants whose gradients are wanted. */
  readonly wanted: readonly Node[];
}

/** The reverse of a loop. */
interface Reversed {
  readonly hoistedLoop: HoistedLoop;
  /** Inputs for the gradients of outputs and of sums. */
  readonly outputs: readonly (Node | undefined)[];
  readonly sums: readonly (Node | undefined)[];
  /** Rows of the original loop whose gradients are outputs, and invariants whose gradients are sums. */
  readonly rows: readonly Node[];
  readonly invariants: readonly Node[];
  /** Members of `invariants` whose gradients are summed as transposed matrices. */
  readonly transposed: readonly Node[];
  /** Tensors that gradient rules created. */
  readonly closedOver: readonly ClosedOver[];
}

const reversals = new WeakMap<HoistedLoop, Map<string, Reversed>>();

/** The reverse of a loop, cached by the given and wanted gradients. */
function reversed(loop: GraphLoop, { outputs, sums, wanted }: LoopCotangents): Reversed {
  const { hoistedLoop } = loop;
  let cache = reversals.get(hoistedLoop);
  if (!cache) reversals.set(hoistedLoop, cache = new Map());
  const nodes = [...hoistedLoop.rows, ...hoistedLoop.invariants];
  const masks = [
    nodes.map((node) => wanted.includes(node)),
    ...[outputs, sums].map((list) => list.map(Boolean)),
    hoistedLoop.invariants.map((node) => liesTransposed(loop.invariants.get(node)!)),
  ];
  const key = masks.map((mask) => mask.map(Number).join("")).join();
  const cached = cache.get(key);
  if (cached) return cached;
  const result = reverseSplit(loop, masks, nodes);
  // Tensors that gradient rules created belong to this run.
  if (result.closedOver.length === 0) cache.set(key, result);
  return result;
}

function reverseSplit(
  { hoistedLoop, values }: GraphLoop,
  [wanted, ofOutputs, ofSums, areTransposed]: boolean[][],
  nodes: readonly Node[],
): Reversed {
  const { graph: { trace, state, next, sums }, keepsProducts } = hoistedLoop;
  const cotangents = new Map<Node, Tensor>();
  const inputs = new Map<Node, boolean>(Array.from(values, ([node, { varies }]) => [node, varies]));
  // A product of a large matrix and a state is not computed again: the saved next state contains the result.
  const isSaved = (node: Node) => hoistedLoop.outputs.includes(node);
  const residuals = [
    ...hoistedLoop.graph.residuals,
    ...next.filter((node, i) => isSaved(state[i]) && takesLargeProduct(hoistedLoop, node)),
  ];
  for (const node of [...state, ...residuals]) inputs.set(node, true);
  /** Adds an input for the gradient of a node. */
  const arrive = (node: Node) => {
    const input = trace.input(node);
    if (isFloat(node.dtype)) cotangents.set(node, cotangents.get(node)?.add(input.tensor) ?? input.tensor);
    return input.node;
  };
  const arriving = next.map(arrive);
  const [outputs, totals] = [[hoistedLoop.outputs, ofOutputs, true], [sums, ofSums, false]] as const;
  const inputsFor = ([list, mask, varies]: readonly [readonly Node[], readonly boolean[], boolean]) =>
    list.map((node, i) => {
      if (!mask[i]) return undefined;
      const input = arrive(node);
      inputs.set(input, varies);
      return input;
    });
  const [forOutputs, forSums] = [inputsFor(outputs), inputsFor(totals)];
  const wrt = nodes.filter((_, i) => wanted[i]);
  reverse(hoistedLoop.body, (node) => trace.symbol(node), cotangents, new Set([...state, ...wrt]));

  const isReached = (node: Node) => wrt.includes(node) && cotangents.has(node);
  const [rows, invariants] = [hoistedLoop.rows.filter(isReached), hoistedLoop.invariants.filter(isReached)];
  const nodeOf = (node: Node) => trace.nodeOf(cotangents.get(node) ?? trace.symbol(node).zerosLike());
  const transposed = hoistedLoop.invariants.filter((node, i) =>
    areTransposed[i] && invariants.includes(node)
  );
  const sumOf = (node: Node) => trace.nodeOf(cotangents.get(node)!.mT);
  const results = {
    next: state.map(nodeOf),
    outputs: rows.map(nodeOf),
    sums: invariants.map((node) => transposed.includes(node) ? sumOf(node) : nodeOf(node)),
  };
  const reached = new Set(topological(Object.values(results).flat(), inputs));
  const graph = {
    ...results,
    trace,
    state: arriving,
    inputs,
    notHoisted: [
      ...state.filter(isSaved),
      ...residuals.filter((node) => reached.has(node)),
    ],
    gradients: [...arriving, ...[...forOutputs, ...forSums].filter((node) => node !== undefined)],
    watched: [],
    residuals: [],
    backward: true,
  };
  const closedOver = trace.popConstants();
  for (const { node } of closedOver) inputs.set(node, false);
  return {
    hoistedLoop: hoist(graph, keepsProducts),
    outputs: forOutputs,
    sums: forSums,
    rows,
    invariants,
    transposed,
    closedOver,
  };
}

/** Minimum elements of a large matrix: reading or copying it again would be slow. */
const largeMatrix = 2 ** 18;

/** Whether a large matrix is in column-major order. Its gradient then has the same order, which optimisers read faster. */
function liesTransposed({ shape, view: { strides } }: Tensor): boolean {
  return shape.length === 2 && sizeOf(shape) >= largeMatrix && strides[0] < strides[1];
}

/** Whether a next state depends on a product of each sample with a large matrix. */
function takesLargeProduct({ body }: HoistedLoop, next: Node): boolean {
  const inLoop = new Set<Node>(body);
  return topological([next], { has: (node) => !inLoop.has(node) }).some((node) =>
    node.kind === "operation" && inLoop.has(node) && node.primitive.lower === "matmul" &&
    node.inputs.some(({ shape }) => shape.length === 2 && sizeOf(shape) >= largeMatrix)
  );
}

/** Maximum number of steps that are summed in one float32. Sums of more terms lose accuracy to rounding. */
const summedSteps = 1024;

/**
 * Gradients of a loop's initial states and of the wanted nodes. Each step is computed again from the saved state and the
 * residuals, and then reversed.
 *
 * @param runParts Makes and runs the loop if cotangents are symbols of `jvp` or `vmap`, from the number of steps.
 * @throws {Uncompilable} If the reverse loop cannot be compiled.
 */
export function reverseLoop(
  loop: GraphLoop,
  arriving: LoopCotangents,
  execute: Executor,
  runParts: (steps: number) => RunParts,
): Map<Node, Tensor | undefined> {
  const { hoistedLoop, outputs, sums, rows, invariants, transposed, closedOver } = reversed(loop, arriving);
  const { steps } = loop;
  const values = new Map<Node, Batched>(loop.values);
  const give = (
    nodes: readonly (Node | undefined)[],
    tensors: readonly (Tensor | undefined)[],
    varies: boolean,
  ) => nodes.forEach((node, i) => node && tensors[i] && values.set(node, { tensor: tensors[i], varies }));
  const { state, next } = loop.hoistedLoop.graph;
  give(state, arriving.saved, true);
  give(loop.hoistedLoop.graph.residuals, arriving.residuals, true);
  for (const node of hoistedLoop.graph.notHoisted) {
    const i = next.indexOf(node);
    if (values.has(node)) continue;
    const tensor = concatenate([arriving.saved[i]!.slice(0, 1), arriving.last[i].expandDims(0)]);
    values.set(node, { tensor, varies: true });
  }
  give(outputs, arriving.outputs, true);
  give(sums, arriving.sums, false);
  for (const { node, tensor } of closedOver) values.set(node, { tensor, varies: false });
  const backward = bindLoop(hoistedLoop, values, steps, execute);
  // From the last step to the first: the shorter chunk comes last.
  const chunks = chunksOf(steps, invariants.length > 0 ? summedSteps : steps)
    .map(({ start, count }) => ({ start: steps - start - count, count }));
  const result = runChunks(chunks, arriving.finals, ({ start, count }, from) => {
    const rows = new Map(
      Array.from(backward.rows, ([node, tensor]) => [node, tensor.slice(0, start, start + count)]),
    );
    const part = { ...backward, steps: count, rows };
    return runOnSymbols(part, from, runParts(count)) ?? runLoop(part, from, execute);
  });
  const ofRows = outputsOf(backward, hoistedLoop.graph.outputs, result.outputs);
  return new Map([
    ...state.map((node, i) => [node, result.finals[i]] as const),
    ...rows.map((node, i) => [node, ofRows[i]] as const),
    ...invariants.map((node, i) => {
      const sum = result.sums[i];
      return [node, transposed.includes(node) ? sum?.mT : sum] as const;
    }),
  ]);
}

/** Runs a backward loop whose cotangents are symbols of `jvp` or `vmap`. Returns `undefined` if none is. */
function runOnSymbols(
  { hoistedLoop, rows, invariants }: GraphLoop,
  initial: readonly Tensor[],
  run: RunParts,
): LoopResult | undefined {
  const constants = hoistedLoop.invariants.map((node) => invariants.get(node)!);
  const trace = traceOf([...initial, ...rows.values(), ...constants]);
  if (!(trace instanceof Transformation)) return undefined;
  const { graph, outputs } = hoistedLoop;
  const body = { ...graph, outputs, rows: hoistedLoop.rows };
  // The last row is the first step.
  const sequences = hoistedLoop.rows.map((node) => rows.get(node)!.flip(0));
  const result = runTransformed(trace, body, hoistedLoop.invariants, { initial, sequences, constants }, run);
  return result && { ...result, outputs: result.outputs.map((x) => x.flip(0)) };
}
