import { concatenate } from "../../tensor/functions.ts";
import { tidyLater } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { LoopResult } from "./graph_loop.ts";

/** Consecutive steps of a loop. */
export interface Chunk {
  /** The first step. */
  readonly start: number;
  /** Number of steps. */
  readonly count: number;
}

/** Divides steps into chunks of a length, at least one; the last chunk may be shorter. */
export function chunksOf(steps: number, length: number): Chunk[] {
  return Array.from({ length: Math.max(1, Math.ceil(steps / length)) }, (_, i) => {
    const start = i * length;
    return { start, count: Math.min(length, steps - start) };
  });
}

/**
 * Runs a loop chunk by chunk. Each chunk begins with the final states of the chunk before it. Sums are added, outputs are
 * concatenated in the order of the steps, and memory that later chunks do not read is released.
 *
 * @param keepsStates Whether the states between chunks are read later.
 */
export function runChunks(
  chunks: readonly Chunk[],
  initial: readonly Tensor[],
  run: (chunk: Chunk, initial: readonly Tensor[]) => LoopResult,
  keepsStates = false,
): LoopResult {
  if (chunks.length === 1) return run(chunks[0], initial);
  let finals = initial;
  let sums: readonly (Tensor | undefined)[] = [];
  const outputs = new Map<Chunk, readonly Tensor[]>();
  let releaseLast = (_wanted: Tree) => {};
  for (const chunk of chunks) {
    const from = finals;
    const { result, release } = tidyLater(() => {
      const result = run(chunk, from);
      return {
        finals: [...result.finals],
        outputs: [...result.outputs],
        sums: result.sums.map((sum, i) => sum && sums[i] ? sums[i].add(sum) : sum ?? sums[i]),
      };
    });
    ({ finals, sums } = result);
    outputs.set(chunk, result.outputs);
    if (!keepsStates) releaseLast([finals, sums, ...outputs.values()]);
    releaseLast = release;
  }
  const inOrder = [...outputs].toSorted(([a], [b]) => a.start - b.start).map(([, own]) => own);
  return {
    finals,
    outputs: inOrder[0].map((_, i) => concatenate(inOrder.map((own) => own[i]))),
    steps: chunks.reduce((sum, { count }) => sum + count, 0),
    sums,
  };
}
