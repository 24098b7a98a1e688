/** `scan` as one operation: its body is traced and runs compiled, and so does its gradient. */
import { vjp } from "../autodiff/grad.ts";
import { isFloat } from "../device/dtype.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { isRecording, record, sharingViews } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, type Tree, withLeaves } from "../tensor/tree.ts";
import type { Executor } from "./run.ts";
import { carryAcrossSteps } from "./carry_across_steps.ts";
import { GraphTrace, literal, type Node, type OperationNode, topological } from "./graph.ts";
import {
  batchOf,
  closedOver,
  type GraphLoop,
  isProductOfSamples,
  type LoopNodes,
  type LoopRunOptions,
  makeLoop,
  runLoop,
  runLoopStepByStep,
} from "./graph_loop.ts";
import { reverseLoop } from "./reverse_loop.ts";
import { type Results, runInSegments, type RunSteps, segmentLength } from "./segments.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";
import { alongSteps, type Stepwise } from "./vectorize.ts";

/** A body as `scan` takes it. */
export type Body<C extends Tree, X extends Tree, Y extends Tree> = (carry: C, x: X) => [carry: C, output: Y];

/** Options of a compiled scan. */
export interface CompiledScanOptions {
  readonly execute: Executor;
  /** Whether only every so many states are kept, and the others computed again. */
  readonly checkpoint: boolean;
  /** Bytes that what is computed for many steps at once may take. */
  readonly memory: number;
}

/**
 * Runs a scan compiled.
 *
 * @throws {Uncompilable} If the body cannot be compiled; nothing has happened then.
 * @throws {ShapeError} If the body returns a state unlike the one that it is given.
 */
export function runCompiled<C extends Tree, X extends Tree, Y extends Tree>(
  f: Body<C, X, Y>,
  init: C,
  xs: X,
  steps: number,
  options: CompiledScanOptions,
): [carry: C, outputs: Y] {
  const trace = new GraphTrace();
  const state = leaves(init).map((value) => ({ value, ...trace.input(value) }));
  const rows = leaves(xs).map((value) => ({
    value,
    ...trace.input({ shape: value.shape.slice(1), dtype: value.dtype }),
  }));
  const [carry, output] = sharingViews(() =>
    f(
      withLeaves(init, state.map(({ tensor }) => tensor)),
      withLeaves(xs, rows.map(({ tensor }) => tensor)),
    )
  );
  const carried = leaves(carry);
  checkCarry(state.map(({ value }) => value), carried);
  const keepsProducts = options.execute.keepsProducts ?? false;
  const stays = (node: OperationNode) => keepsProducts && isProductOfSamples(node, state[0].node);
  const { nodes, initial } = carryAcrossSteps(
    trace,
    {
      state: state.map(({ node }) => node),
      next: carried.map((x) => trace.nodeOf(x)),
      outputs: leaves(output).map((x) => trace.nodeOf(x)),
    },
    state,
    rows,
    stays,
  );
  const given = rows.map(({ node }) => node);
  const run: RunSteps = (initial, sequences, steps) => {
    const stepwise = new Map<Node, Stepwise>(
      given.map((node, i) => [node, { tensor: sequences[i], varies: true }]),
    );
    const { loop, batch } = makeCompilable(nodes, stepwise, initial, steps, keepsProducts);
    const { finals, outputs } = runRecorded(loop, initial, { steps, batch, execute: options.execute });
    return {
      finals,
      outputs: nodes.outputs.map((node) => {
        const position = loop.outputs.indexOf(node);
        return position >= 0 ? outputs[position] : alongSteps(valueOf(node, loop, stepwise), steps);
      }),
    };
  };
  const sequences = rows.map(({ value }) => value);
  const segment = segmentLength(nodes, new Set(given), steps, { ...options, stays });
  const constants = topological([...nodes.next, ...nodes.outputs])
    .flatMap((node) => node.kind === "constant" && isFloat(node.dtype) ? [node.tensor] : []);
  const { finals, outputs } = segment < steps
    ? runInSegments(run, { initial, sequences, constants }, steps, segment)
    : run(initial, sequences, steps);
  return [withLeaves(init, finals), withLeaves(output, outputs)];
}

/** Makes a loop that can be compiled, fused if possible; it has those outputs that are not known before it runs. */
function makeCompilable(
  nodes: LoopNodes,
  stepwise: Map<Node, Stepwise>,
  initial: readonly Tensor[],
  steps: number,
  keepsProducts: boolean,
): { loop: GraphLoop; batch: number } {
  const whole = makeLoop(nodes, stepwise, steps, { keepsProducts });
  const inLoop = new Set<Node>([...whole.body, ...nodes.state]);
  const loop = { ...whole, outputs: [...new Set(nodes.outputs.filter((node) => inLoop.has(node)))] };
  try {
    return { loop, batch: batchOf(loop, initial, steps) };
  } catch (error) {
    if (!(error instanceof Uncompilable) || !keepsProducts) throw error;
    return makeCompilable(nodes, stepwise, initial, steps, false);
  }
}

/** Runs a loop and tells the gradient tapes of it. */
function runRecorded(loop: GraphLoop, initial: readonly Tensor[], options: LoopRunOptions): Results {
  if (!isRecording()) return runLoop(loop, initial, options);
  const { steps } = options;
  const { finals, outputs: kept } = runLoop(
    { ...loop, outputs: [...loop.outputs, ...loop.state] },
    initial,
    options,
  );
  const [outputs, saved] = [kept.slice(0, loop.outputs.length), kept.slice(loop.outputs.length)];
  const rows = [...loop.rows];
  const constants = closedOver(loop);
  const inputs = [...initial, ...rows.map(([, tensor]) => tensor), ...constants.map(({ tensor }) => tensor)];
  record(inputs, [...finals, ...outputs], (cotangents, wanted) => {
    const stepByStep = () => {
      // A tensor that the loop is given twice has one gradient, which is told once; a bool or an int32 one has none.
      const differentiable = [...new Set(inputs)].filter((x) => isFloat(x.dtype));
      const { value, pullback } = vjp(() => {
        const { finals, outputs } = runLoopStepByStep(loop, initial, steps);
        return [...finals, ...outputs];
      }, differentiable);
      const found = pullback(value.map((x: Tensor, i: number) => cotangents[i] ?? x.zerosLike()));
      const gradients = new Map(differentiable.map((x, i) => [x, found[i]]));
      return inputs.map((x, i) => inputs.indexOf(x) === i ? gradients.get(x) : undefined);
    };
    // The gradient of a gradient needs every operation on the outer tape.
    if (isRecording()) return stepByStep();
    const nodes = [...loop.state, ...rows.map(([node]) => node), ...constants.map(({ node }) => node)];
    const isWanted = (node: Node) => wanted[nodes.indexOf(node)];
    try {
      return scope(() => {
        const found = reverseLoop(loop, {
          ...options,
          saved,
          finals: finals.map((x, i) => cotangents[i] ?? x.zerosLike()),
          outputs: cotangents.slice(finals.length),
          rows: rows.map(([node]) => node).filter(isWanted),
          constants: constants.map(({ node }) => node).filter(isWanted),
        });
        return nodes.map((node) => found.get(node));
      });
    } catch (error) {
      if (!(error instanceof Uncompilable)) throw error;
      warnOnce(error);
      return stepByStep();
    }
  });
  return { finals, outputs };
}

function valueOf(node: Node, { rows }: GraphLoop, stepwise: ReadonlyMap<Node, Stepwise>): Stepwise {
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
  const [expected, found] = [initial, carried].map((list) =>
    list.map((x) => `${x.dtype} ${formatShape(x.shape)}`)
  );
  throw new ShapeError(
    `scan: the body must return a state like the one that it is given: ${expected.join(", ")}, got ${
      found.join(", ")
    }`,
  );
}
