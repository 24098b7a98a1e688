/**
 * Loops in segments of time. Hoisted values are computed for one segment at a time. For the gradient, each segment runs again,
 * and its residuals are released after its gradient.
 */
import { differentiate } from "../../autodiff/differentiate.ts";
import { isFloat } from "../../device/dtype.ts";
import { concatenate } from "../../tensor/functions.ts";
import { isRecording, record, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeLeaves, withLeaves } from "../../tensor/tree.ts";
import type { LoopResult } from "./graph_loop.ts";
import type { Step } from "./loop_options.ts";
import { type Chunk, chunksOf, runChunks } from "./chunks.ts";

/** Inputs of a loop. */
export interface LoopArguments {
  readonly initial: readonly Tensor[];
  readonly sequences: readonly Tensor[];
  /** Tensors that the body closes over. */
  readonly constants: readonly Tensor[];
}

/** Runs a number of steps of the loop, recorded on the tapes. */
export type RunSteps = (
  initial: readonly Tensor[],
  sequences: readonly Tensor[],
  steps: number,
) => LoopResult;

/** Runs a loop in segments of `segment` steps, and records it on the gradient tapes. */
export function runInSegments(
  run: RunSteps,
  args: LoopArguments,
  steps: number,
  segment: number,
): LoopResult {
  const { initial, sequences, constants } = args;
  const rowsOf = ({ start, count }: Chunk) => sequences.map((x) => x.slice(0, start, start + count));
  const parts: { chunk: Chunk; from: readonly Tensor[] }[] = [];
  // The gradient runs each segment again from its initial states.
  const keepsStates = isRecording();
  const result = withoutRecording(() =>
    runChunks(chunksOf(steps, segment), initial, (chunk, from) => {
      parts.push({ chunk, from });
      return run(from, rowsOf(chunk), chunk.count);
    }, keepsStates)
  );
  if (!isRecording()) return result;

  record(inputsOf(args), tensorsOf(result), (cotangents, wanted) => {
    // For the gradient of a gradient, the outer tape must record how each segment depends on the segment before it.
    if (isRecording()) return gradientsOf(run, args, steps, wanted, cotangents);
    const [states, rest] = [initial.length, wanted.slice(initial.length)];
    let carried = cotangents.slice(0, states);
    const [first, last] = [states, states + result.outputs.length];
    const rows: Tensor[][] = sequences.map(() => []);
    const sums: (Tensor | undefined)[] = constants.map(() => undefined);
    for (const { chunk, from } of parts.toReversed()) {
      const part = { ...args, initial: from, sequences: rowsOf(chunk) };
      const { start, count } = chunk;
      const gradients = tidy(() => {
        const ofOutputs = cotangents.slice(first, last).map((x) => x?.slice(0, start, start + count));
        const arriving = [...carried, ...ofOutputs, ...cotangents.slice(last)];
        return gradientsOf(run, part, count, [...from.map(() => true), ...rest], arriving);
      });
      carried = gradients.splice(0, states);
      for (const [i, gradient] of gradients.splice(0, rows.length).entries()) {
        if (gradient) rows[i].unshift(gradient);
      }
      gradients.forEach((gradient, i) =>
        sums[i] = gradient && sums[i] ? sums[i].add(gradient) : sums[i] ?? gradient
      );
    }
    return [...carried, ...rows.map((list) => list.length > 0 ? concatenate(list) : undefined), ...sums];
  });
  return result;
}

/**
 * Runs a loop. For the gradient, the loop runs again, so that its residuals need no memory until then.
 *
 * @param inputs The tensors that `run` reads. A gradient flows to them alone.
 */
export function recomputeForGradient(inputs: readonly Tensor[], run: () => LoopResult): LoopResult {
  const result = withoutRecording(() => tidy(run));
  record(
    inputs,
    tensorsOf(result),
    (cotangents, wanted) => tidy(() => gradientsOfInputs(() => tensorsOf(run()), inputs, wanted, cotangents)),
  );
  return result;
}

/** {@linkcode recomputeForGradient} for one step of a body. */
export function recomputeStepForGradient<C extends Tree, Y extends Tree, S extends Tree>(
  inputs: readonly Tensor[],
  take: () => Step<C, Y, S>,
): Step<C, Y, S> {
  let step!: Step<C, Y, S>;
  const { finals, outputs, sums } = recomputeForGradient(inputs, () => {
    step = take();
    // A tape tells results apart from inputs, and from each other, by identity.
    const distinct = new Set(inputs);
    const [finals, outputs, sums] = [step.carry, step.outputs, step.sums].map((tree) =>
      treeLeaves(tree).map((x) => {
        const own = distinct.has(x) ? x.add(0) : x;
        distinct.add(own);
        return own;
      })
    );
    return { finals, outputs, sums, steps: 1 };
  });
  return {
    carry: withLeaves(step.carry, finals),
    outputs: withLeaves(step.outputs as Y, outputs),
    sums: withLeaves(step.sums as S, sums as Tensor[]),
  };
}

function inputsOf({ initial, sequences, constants }: LoopArguments): Tensor[] {
  return [...initial, ...sequences, ...constants];
}

function tensorsOf({ finals, outputs, sums }: LoopResult): Tensor[] {
  return [...finals, ...outputs, ...sums.filter((sum) => sum !== undefined)];
}

/** Gradients of the wanted inputs of a loop, given the gradients of its results. */
function gradientsOf(
  run: RunSteps,
  args: LoopArguments,
  steps: number,
  wanted: readonly boolean[],
  cotangents: readonly (Tensor | undefined)[],
): (Tensor | undefined)[] {
  const inputs = inputsOf(args);
  const results = () => tensorsOf(run(args.initial, args.sequences, steps));
  return gradientsOfInputs(results, inputs, inputs.map((_, i) => wanted[i]), cotangents);
}

/** Gradients of the wanted inputs of a function, given the gradients of its results. A repeated input has one gradient. */
export function gradientsOfInputs(
  f: () => Tensor[],
  inputs: readonly Tensor[],
  wanted: readonly boolean[],
  cotangents: readonly (Tensor | undefined)[],
): (Tensor | undefined)[] {
  const watched = [...new Set(inputs.filter((x, i) => wanted[i] && isFloat(x.dtype)))];
  const { gradients } = differentiate(f, watched, () => cotangents);
  return inputs.map((x, i) => {
    const position = watched.indexOf(x);
    return inputs.indexOf(x) === i && position >= 0 ? gradients[position] : undefined;
  });
}
