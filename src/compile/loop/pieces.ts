import { concatenate } from "../../tensor/functions.ts";
import { scopeUntil } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { LoopResult } from "./graph_loop.ts";

/** Steps of a loop that run together. */
export interface Piece {
  /** The first step. */
  readonly start: number;
  /** Number of steps. */
  readonly count: number;
}

/** Cuts steps into pieces of some length, the last one perhaps shorter. */
export function piecesOf(steps: number, length: number): Piece[] {
  return Array.from({ length: Math.ceil(steps / length) }, (_, i) => {
    const start = i * length;
    return { start, count: Math.min(length, steps - start) };
  });
}

/**
 * Runs a loop piece by piece: each begins with the states that the one before has left, sums are added, outputs put together in
 * the order of steps. What a piece makes and the next does not need is freed.
 *
 * @param keepsStates Whether the states between pieces are needed later.
 */
export function runPieces(
  pieces: readonly Piece[],
  initial: readonly Tensor[],
  run: (piece: Piece, initial: readonly Tensor[]) => LoopResult,
  keepsStates = false,
): LoopResult {
  if (pieces.length === 1) return run(pieces[0], initial);
  let finals = initial;
  let sums: readonly (Tensor | undefined)[] = [];
  const outputs = new Map<Piece, readonly Tensor[]>();
  let releaseLast = (_wanted: Tree) => {};
  for (const piece of pieces) {
    const from = finals;
    const { result, release } = scopeUntil(() => {
      const result = run(piece, from);
      return {
        finals: [...result.finals],
        outputs: [...result.outputs],
        sums: result.sums.map((sum, i) => sum && sums[i] ? sums[i].add(sum) : sum ?? sums[i]),
      };
    });
    ({ finals, sums } = result);
    outputs.set(piece, result.outputs);
    if (!keepsStates) releaseLast([finals, sums, ...outputs.values()]);
    releaseLast = release;
  }
  const inOrder = [...outputs].toSorted(([a], [b]) => a.start - b.start).map(([, own]) => own);
  return {
    finals,
    outputs: inOrder[0].map((_, i) => concatenate(inOrder.map((own) => own[i]))),
    sums,
  };
}
