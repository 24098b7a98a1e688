/** `scan` as one operation: its body is traced and runs compiled, and so does its gradient. */
import { vjp } from "../autodiff/grad.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { concatenate } from "../tensor/functions.ts";
import { isRecording, record, sharingViews } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, mapTree, type Tree } from "../tensor/tree.ts";
import type { Executor } from "./executor.ts";
import { carryAcrossSteps } from "./carry.ts";
import { GraphTrace, literal, type Node } from "./graph.ts";
import {
  batchOf,
  closedOver,
  type GraphLoop,
  isProductOfSamples,
  type LoopNodes,
  makeLoop,
  runLoop,
  runLoopStepByStep,
  stepsOf,
} from "./loop.ts";
import { reverseLoop } from "./reverse_loop.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";
import { alongSteps, type Stepwise } from "./vectorize.ts";

/** A body as `scan` takes it. */
export type Body<C extends Tree, X extends Tree, Y extends Tree> = (carry: C, x: X) => [carry: C, output: Y];

/** How a compiled scan keeps the states that its gradient starts from. */
export interface CompiledScanOptions {
  readonly execute: Executor;
  /** Whether only every so many states are kept, and the others computed again. */
  readonly checkpoint: boolean;
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
  const stepwise = new Map<Node, Stepwise>(
    rows.map(({ node, value }) => [node, { tensor: value, varies: true }]),
  );
  const fuse = options.execute.fuses ?? false;
  const { nodes, initial } = carryAcrossSteps(
    trace,
    {
      state: state.map(({ node }) => node),
      next: carried.map((x) => trace.nodeOf(x)),
      outputs: leaves(output).map((x) => trace.nodeOf(x)),
    },
    state,
    rows,
    (node) => fuse && isProductOfSamples(node, state[0].node),
  );
  const { outputs } = nodes;
  const { loop, batch } = makeCompilable(nodes, stepwise, initial, steps, fuse);
  const { finals, outputs: computed } = runRecorded(loop, initial, steps, batch, options);
  const stacked = outputs.map((node) => {
    const position = loop.outputs.indexOf(node);
    return position >= 0 ? computed[position] : alongSteps(valueOf(node, loop, stepwise), steps);
  });
  return [withLeaves(init, finals), withLeaves(output, stacked)];
}

/** Makes a loop that can be compiled, fused if possible; it has those outputs that are not known before it runs. */
function makeCompilable(
  nodes: LoopNodes,
  stepwise: Map<Node, Stepwise>,
  initial: readonly Tensor[],
  steps: number,
  fuse: boolean,
): { loop: GraphLoop; batch: number } {
  const whole = makeLoop(nodes, stepwise, steps, { fuse });
  const inLoop = new Set<Node>([...whole.body, ...nodes.state]);
  const loop = { ...whole, outputs: [...new Set(nodes.outputs.filter((node) => inLoop.has(node)))] };
  try {
    return { loop, batch: batchOf(loop, initial, steps) };
  } catch (error) {
    if (!(error instanceof Uncompilable) || !fuse) throw error;
    return makeCompilable(nodes, stepwise, initial, steps, false);
  }
}

/** Runs a loop and tells the gradient tapes of it. */
function runRecorded(
  loop: GraphLoop,
  initial: readonly Tensor[],
  steps: number,
  batch: number,
  { execute, checkpoint }: CompiledScanOptions,
): { finals: readonly Tensor[]; outputs: readonly Tensor[] } {
  const run = (part: GraphLoop, from: readonly Tensor[], count: number) =>
    runLoop(part, from, { steps: count, batch, execute });
  if (!isRecording()) return run(loop, initial, steps);

  const segment = checkpoint ? Math.ceil(Math.sqrt(steps)) : steps;
  const starts = Array.from({ length: Math.ceil(steps / segment) }, (_, i) => i * segment);
  const partFrom = (start: number) => stepsOf(loop, start, Math.min(start + segment, steps));
  const lengthFrom = (start: number) => Math.min(segment, steps - start);
  /** A part of the loop that also hands out the states before its steps. */
  const saving = (part: GraphLoop): GraphLoop => ({ ...part, outputs: [...part.outputs, ...part.state] });

  const parts: { start: number; from: readonly Tensor[]; saved?: readonly Tensor[] }[] = [];
  const pieces: (readonly Tensor[])[] = [];
  let finals = initial;
  for (const start of starts) {
    const part = partFrom(start);
    const result = run(checkpoint ? part : saving(part), finals, lengthFrom(start));
    parts.push({
      start,
      from: finals,
      saved: checkpoint ? undefined : result.outputs.slice(loop.outputs.length),
    });
    pieces.push(result.outputs);
    finals = result.finals;
  }
  const outputs = loop.outputs.map((_, i) => concatenate(pieces.map((piece) => piece[i])));

  const rows = [...loop.rows];
  const constants = closedOver(loop);
  const inputs = [...initial, ...rows.map(([, tensor]) => tensor), ...constants.map(({ tensor }) => tensor)];
  record(inputs, [...finals, ...outputs], (cotangents, wanted) => {
    const stepByStep = () => {
      const { value, pullback } = vjp(() => {
        const { finals, outputs } = runLoopStepByStep(loop, initial, steps);
        return [...finals, ...outputs];
      }, inputs);
      return pullback(value.map((x: Tensor, i: number) => cotangents[i] ?? x.zerosLike()));
    };
    // The gradient of a gradient needs every operation on the outer tape.
    if (isRecording()) return stepByStep();
    const wantedRows = rows.filter((_, i) => wanted[initial.length + i]).map(([node]) => node);
    const wantedConstants = constants.filter((_, i) => wanted[initial.length + rows.length + i]);
    try {
      let carried: readonly Tensor[] = finals.map((x, i) => cotangents[i] ?? x.zerosLike());
      const rowGradients = new Map<Node, Tensor[]>(wantedRows.map((node) => [node, []]));
      const sums = new Map<Node, Tensor>();
      for (const { start, from, saved } of parts.toReversed()) {
        const [part, length] = [partFrom(start), lengthFrom(start)];
        const nodes = [...loop.state, ...wantedRows, ...wantedConstants.map(({ node }) => node)];
        const gradients = scope(() => {
          const found = reverseLoop(part, {
            steps: length,
            batch,
            execute,
            saved: saved ?? run({ ...part, outputs: part.state }, from, length).outputs,
            finals: carried,
            outputs: loop.outputs.map((_, i) =>
              cotangents[finals.length + i]?.slice(0, start, start + length)
            ),
            rows: wantedRows,
            constants: wantedConstants.map(({ node }) => node),
          });
          return nodes.map((node) => found.get(node));
        });
        const gradientOf = (node: Node) => gradients[nodes.indexOf(node)];
        carried = loop.state.map((node) => gradientOf(node)!);
        for (const [node, list] of rowGradients) {
          list.unshift(gradientOf(node) ?? loop.rows.get(node)!.slice(0, start, start + length).zerosLike());
        }
        for (const { node } of wantedConstants) {
          const [before, gradient] = [sums.get(node), gradientOf(node)];
          if (gradient) sums.set(node, before ? before.add(gradient) : gradient);
        }
      }
      return [
        ...carried,
        ...rows.map(([node]) => rowGradients.has(node) ? concatenate(rowGradients.get(node)!) : undefined),
        ...constants.map(({ node }) => sums.get(node)),
      ];
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

function withLeaves<T extends Tree>(tree: T, tensors: readonly Tensor[]): T {
  let position = 0;
  return mapTree(tree, () => tensors[position++]);
}
