/** Arguments of the kernels of matrix products. */
import type { TaskBuilder } from "../runtime/executable.ts";
import type { Local } from "../assembler/wasm.ts";

/** Positions in the descriptor. Addresses and strides count 32-bit words. */
export const word = {
  a: 0,
  b: 1,
  c: 2,
  m: 3,
  n: 4,
  k: 5,
  aRowStride: 6,
  aDepthStride: 7,
  bDepthStride: 8,
  bColumnStride: 9,
  cRowStride: 10,
  /** Work is split into units: rows and columns of one matrix of a batch. A task has several units. */
  units: 11,
  unitsPerTask: 12,
  rowUnits: 13,
  rowsPerUnit: 14,
  columnUnits: 15,
  columnsPerUnit: 16,
  /** Terms of the sum that are processed at a time. */
  depth: 17,
  packsA: 18,
  /** Panels of the right matrix that are packed at a time. 0: the matrix is not packed. */
  panels: 19,
  scratch: 20,
  scratchPerTask: 21,
  batchAxes: 22,
  axes: 23,
} as const;

const distances: ReadonlySet<keyof typeof word> = new Set([
  "aRowStride",
  "aDepthStride",
  "bDepthStride",
  "bColumnStride",
  "cRowStride",
  "scratchPerTask",
]);

/** Reads words of the descriptor into variables. Strides are converted to bytes. */
export function reader({ word: read, distance }: TaskBuilder): (name: keyof typeof word) => Local {
  return (name) => (distances.has(name) ? distance : read)(word[name]);
}
