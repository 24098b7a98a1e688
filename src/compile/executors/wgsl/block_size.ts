/** The words of a block of workgroup memory: see {@link ./shader_memory.ts}. */
import { sizeOf } from "../../../device/shape.ts";
import type { Operand, Program } from "../../program/program.ts";
import { maxTileWidth, type WorkgroupShape } from "./choose_workgroup.ts";
import { groupSize } from "./packed_weights.ts";

/** The size of a workgroup, and the words of a block of its memory. */
export interface Blocks extends WorkgroupShape {
  readonly block: number;
}

/** The smallest number of terms that is a multiple of a block and of the terms that are read at once of a packed matrix. */
export function unitOf(block: number): number {
  return groupSize * block / (block % 4 === 0 ? 4 : block % 2 === 0 ? 2 : 1);
}

/** Sizes for any program. */
const common = [4, 8, 16];
const maxBlock = 32;

/** Instructions that compute and check the position of a block, and of a word at a variable position of a block. */
const [blockInstructions, wordInstructions] = [3, 6];

/** Chooses the block by the instructions of the products, which are fewest if rows begin at the beginning of a block. */
export function chooseBlock(program: Program, lanes: number): number {
  /** Operands in slots, the axis of their terms, and how often an invocation reads their terms. */
  const reads = program.kernels.flatMap((kernel) => {
    if (kernel.kind !== "contract") return [];
    const [a, b] = kernel.operands;
    const outputs = sizeOf(kernel.output.shape) / lanes;
    return ([[a, -1], [b, -2]] as const).flatMap(([operand, axis]) =>
      operand.slot === undefined
        ? []
        : [{ operand, axis, times: Math.ceil(isOneRow(operand, axis) ? outputs / maxTileWidth : outputs) }]
    );
  });
  const strides = new Set(reads.flatMap(({ operand }) => operand.strides));
  const own = [...strides].filter((stride) => stride >= groupSize && stride <= maxBlock);
  let [best, least] = [common[0], Infinity];
  for (const block of [...new Set([...common, ...own])].sort((a, b) => b - a)) {
    const cost = reads.reduce(
      (sum, { operand, axis, times }) => sum + times * costOf(operand, axis, block),
      0,
    );
    if (cost < least) [best, least] = [block, cost];
  }
  return best;
}

/** Whether all outputs read the same elements. */
function isOneRow({ shape, strides }: Operand, axis: number): boolean {
  return strides.every((stride, i) => i === axis + shape.length || stride === 0 || shape[i] === 1);
}

/** Instructions that read the terms of an output. */
function costOf({ shape, strides, offset }: Operand, axis: number, block: number): number {
  const terms = shape.at(axis)!;
  const stride = strides.at(axis)!;
  const last = axis + shape.length;
  const isAligned = offset % block === 0 &&
    strides.every((stride, i) => i === last || shape[i] === 1 || stride % block === 0);
  if (stride === 1 && isAligned) {
    // Two words are read at once if blocks have no multiple of four words.
    return Math.ceil(terms / (block % groupSize === 0 ? groupSize : 2)) +
      blockInstructions * Math.ceil(terms / block);
  }
  return terms * (stride % block === 0 ? 1 + blockInstructions : wordInstructions);
}
