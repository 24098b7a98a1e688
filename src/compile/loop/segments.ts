/**
 * A loop in segments of time. What a step reads that does not depend on the state is computed for all steps of a segment at
 * once; for the gradient a segment runs again, and keeps what its gradient needs only until that is there.
 */
import { differentiate } from "../../autodiff/differentiate.ts";
import { isFloat } from "../../device/dtype.ts";
import { concatenate } from "../../tensor/functions.ts";
import { isRecording, record, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { LoopResult } from "./graph_loop.ts";
import { type Piece, piecesOf, runPieces } from "./pieces.ts";

/** Inputs of a loop. */
export interface Given {
  readonly initial: readonly Tensor[];
  readonly sequences: readonly Tensor[];
  /** Tensors that its body closes over. */
  readonly constants: readonly Tensor[];
}

/** Runs the loop for so many steps, recorded. */
export type RunSteps = (
  initial: readonly Tensor[],
  sequences: readonly Tensor[],
  steps: number,
) => LoopResult;

/** Runs a loop in segments of so many steps, and tells the gradient tapes of it. */
export function runInSegments(run: RunSteps, given: Given, steps: number, segment: number): LoopResult {
  const { initial, sequences, constants } = given;
  const rowsOf = ({ start, count }: Piece) => sequences.map((x) => x.slice(0, start, start + count));
  const parts: { piece: Piece; from: readonly Tensor[] }[] = [];
  // A gradient begins a segment at what the one before has left.
  const keepsStates = isRecording();
  const result = withoutRecording(() =>
    runPieces(piecesOf(steps, segment), initial, (piece, from) => {
      parts.push({ piece, from });
      return run(from, rowsOf(piece), piece.count);
    }, keepsStates)
  );
  if (!isRecording()) return result;

  record(inputsOf(given), tensorsOf(result), (cotangents, wanted) => {
    // The gradient of a gradient needs to know how segments follow from each other.
    if (isRecording()) return gradientsOf(run, given, steps, wanted, cotangents);
    const [states, rest] = [initial.length, wanted.slice(initial.length)];
    let carried = cotangents.slice(0, states);
    const [first, last] = [states, states + result.outputs.length];
    const rows: Tensor[][] = sequences.map(() => []);
    const sums: (Tensor | undefined)[] = constants.map(() => undefined);
    for (const { piece, from } of parts.toReversed()) {
      const part = { ...given, initial: from, sequences: rowsOf(piece) };
      const { start, count } = piece;
      const found = tidy(() => {
        const ofOutputs = cotangents.slice(first, last).map((x) => x?.slice(0, start, start + count));
        const arriving = [...carried, ...ofOutputs, ...cotangents.slice(last)];
        return gradientsOf(run, part, count, [...from.map(() => true), ...rest], arriving);
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
  return result;
}

function inputsOf({ initial, sequences, constants }: Given): Tensor[] {
  return [...initial, ...sequences, ...constants];
}

function tensorsOf({ finals, outputs, sums }: LoopResult): Tensor[] {
  return [...finals, ...outputs, ...sums.filter((sum) => sum !== undefined)];
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
  const results = () => tensorsOf(run(given.initial, given.sequences, steps));
  return gradientsOfInputs(results, inputs, inputs.map((_, i) => wanted[i]), cotangents);
}

/** Gradients of inputs, where they are wanted, of a function whose results have gradients; each tensor's once. */
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
