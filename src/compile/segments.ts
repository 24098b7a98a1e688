/**
 * A loop in segments of time. What a step reads that does not depend on the state is computed for all steps of a segment at
 * once; for the gradient a segment runs again, and keeps what its gradient needs only until that is there.
 */
import { vjp } from "../autodiff/grad.ts";
import { bytesPerElement, isFloat } from "../device/dtype.ts";
import { sizeOf } from "../device/shape.ts";
import { concatenate } from "../tensor/functions.ts";
import { isRecording, record, withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Node, OperationNode } from "./graph.ts";
import type { LoopNodes } from "./graph_loop.ts";
import { type Piece, piecesOf, runPieces } from "./pieces.ts";
import { split } from "./split.ts";

/** Results of a loop. */
export interface Results {
  readonly finals: readonly Tensor[];
  /** A row a step. */
  readonly outputs: readonly Tensor[];
}

/** Runs the loop for so many steps, recorded. */
export type RunSteps = (initial: readonly Tensor[], sequences: readonly Tensor[], steps: number) => Results;

/** Inputs of a loop. */
export interface Given {
  readonly initial: readonly Tensor[];
  readonly sequences: readonly Tensor[];
  /** Tensors that its body closes over. */
  readonly constants: readonly Tensor[];
}

/** Runs a loop in segments of so many steps, and tells the gradient tapes of it. */
export function runInSegments(
  run: RunSteps,
  { initial, sequences, constants }: Given,
  steps: number,
  segment: number,
): Results {
  const rowsOf = ({ start, count }: Piece) => sequences.map((x) => x.slice(0, start, start + count));
  const parts: { piece: Piece; from: readonly Tensor[] }[] = [];
  // A gradient begins a segment at what the one before has left.
  const keepsStates = isRecording();
  const { finals, outputs } = withoutRecording(() =>
    runPieces(piecesOf(steps, segment), initial, (piece, from) => {
      parts.push({ piece, from });
      return { ...run(from, rowsOf(piece), piece.count), sums: [] };
    }, keepsStates)
  );
  if (!isRecording()) return { finals, outputs };

  const given = { initial, sequences, constants };
  record(inputsOf(given), [...finals, ...outputs], (cotangents, wanted) => {
    // The gradient of a gradient needs to know how segments follow from each other.
    if (isRecording()) return gradientsOf(run, given, steps, wanted, cotangents);
    const [states, rest] = [initial.length, wanted.slice(initial.length)];
    let carried = cotangents.slice(0, states);
    const rows: Tensor[][] = sequences.map(() => []);
    const sums: (Tensor | undefined)[] = constants.map(() => undefined);
    for (const { piece, from } of parts.toReversed()) {
      const part = { ...given, initial: from, sequences: rowsOf(piece) };
      const { start, count } = piece;
      const found = scope(() => {
        const later = cotangents.slice(states).map((x) => x?.slice(0, start, start + count));
        return gradientsOf(run, part, count, [...from.map(() => true), ...rest], [...carried, ...later]);
      });
      carried = found.splice(0, states);
      for (const [i, gradient] of found.splice(0, rows.length).entries()) {
        if (gradient) rows[i].unshift(gradient);
      }
      found.forEach((gradient, i) =>
        sums[i] = gradient && sums[i] ? sums[i].add(gradient) : sums[i] ?? gradient
      );
    }
    return [...carried, ...rows.map((list) => list.length > 0 ? concatenate(list) : undefined), ...sums];
  });
  return { finals, outputs };
}

function inputsOf({ initial, sequences, constants }: Given): Tensor[] {
  return [...initial, ...sequences, ...constants];
}

/** Gradients of what a loop is given, where they are wanted, from those of what it leaves behind. */
function gradientsOf(
  run: RunSteps,
  given: Given,
  steps: number,
  wanted: readonly boolean[],
  cotangents: readonly (Tensor | undefined)[],
): (Tensor | undefined)[] {
  const inputs = inputsOf(given);
  const watched = [...new Set(inputs.filter((x, i) => wanted[i] && isFloat(x.dtype)))];
  const { value, pullback } = vjp(() => {
    const { finals, outputs } = run(given.initial, given.sequences, steps);
    return [...finals, ...outputs];
  }, watched);
  const gradients = pullback(value.map((x: Tensor, i: number) => cotangents[i] ?? x.zerosLike()));
  // A tensor that is given twice has one gradient.
  return inputs.map((x, i) => {
    const position = watched.indexOf(x);
    return inputs.indexOf(x) === i && position >= 0 ? gradients[position] : undefined;
  });
}

/** Bounds of a segment. */
export interface CutOptions {
  /** Whether segments are as long as they are many, so that memory grows with the square root of the steps. */
  readonly checkpoint: boolean;
  /** Bytes that the values of a segment may take. */
  readonly memory: number;
  /** Operations that are left in the loop although they do not depend on the state. */
  readonly stays: (node: OperationNode) => boolean;
}

/** Steps of a segment. */
export function segmentLength(
  { state, next, outputs }: LoopNodes,
  rows: ReadonlySet<Node>,
  steps: number,
  { checkpoint, memory, stays }: CutOptions,
): number {
  const { before } = split([...next, ...outputs], new Set(state), rows, stays);
  const varying = new Set<Node>(rows);
  for (const node of before) {
    if (node.kind === "operation" && node.inputs.some((input) => varying.has(input))) varying.add(node);
  }
  // Values computed ahead of the loop, outputs and, for the gradient, states.
  const kept = [...before.filter((node) => varying.has(node)), ...outputs, ...isRecording() ? state : []];
  const bytes = kept.reduce((sum, { shape, dtype }) => sum + sizeOf(shape) * bytesPerElement(dtype), 0);
  const fitting = Math.max(1, Math.min(steps, Math.floor(memory / Math.max(1, bytes))));
  return checkpoint && isRecording() ? Math.min(fitting, Math.ceil(Math.sqrt(steps))) : fitting;
}
