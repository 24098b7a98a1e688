/** Splits products of packed matrices into tasks. */
import type { BufferView, PreparedMatrix } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { transposed } from "../../view.ts";
import { addressOf } from "../assembler/address.ts";
import { maxTasks } from "../kernels/kernels.ts";
import type { Block, Memory } from "../runtime/memory.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import type { word } from "./descriptor.ts";
import { panelBytes, panelPadding } from "./packing.ts";
import { panelsAtOnce } from "./products.ts";
import { groupRows } from "./tile.ts";

/** A kernel of matrix products. */
export type ProductTask = "products" | "updates" | "dots" | "packed" | "pack a" | "pack b";

/** Starts a kernel with the words of its descriptor. */
export type Start = (
  task: ProductTask,
  tasks: number,
  words: Partial<Record<keyof typeof word, number>>,
  batched?: readonly Pick<BufferView, "shape" | "strides">[],
) => void;

/**
 * Maximum rows of a block that stays in the second-level cache, while the current panels are in the
 * first-level cache.
 */
export const blockRows = 192;
/**
 * Terms of a block: the current panels fill three quarters of the first-level cache, and the result is seldom
 * updated.
 */
const blockTerms = 384;
/** Columns of a unit with more rows: its panels stay in the second-level cache. */
const blockColumns = 256;
/** Rows of a left matrix or columns of a right matrix that a unit packs: complete groups and panels. */
const packedAtOnce = { a: 12 * groupRows, b: 64 };
/** Bytes of the rows of the left matrix and the result that are multiplied at a time. */
const packedBytes = 2 ** 26;

/** Matrices of one shape, in blocks of terms. */
interface PackedMatrices {
  readonly block: Block;
  /**
   * Words per row of a left matrix (per column of a right matrix) in a block, between blocks, and between
   * matrices.
   */
  readonly spacing: number;
  readonly blockStride: number;
  readonly stride: number;
}

/** Packs rows of left matrices, or of transposed right matrices: `(count, rows, terms)`. */
function pack(
  memory: Memory,
  start: Start,
  side: "a" | "b",
  { shape, strides, ...view }: BufferView,
): PackedMatrices {
  const [count, m, k] = shape;
  const words = bytesPerElement(view.dtype) / 4;
  const rowBytes = panelBytes(memory);
  const panelColumns = rowBytes / (4 * words);
  const terms = Math.min(blockTerms, k);
  const panel = (terms * rowBytes + panelPadding) / 4;
  const spacing = side === "a" ? terms * words : panel / panelColumns;
  const together = side === "a" ? groupRows : panelColumns;
  const stride = spacing * together * Math.ceil(m / together);
  const blockStride = count * stride;
  const block = memory.allocate(4 * blockStride * Math.ceil(k / terms));
  const rowUnits = Math.ceil(m / packedAtOnce[side]);
  const units = count * rowUnits;
  const tasks = Math.min(maxTasks, units);
  start(`pack ${side}`, tasks, {
    ...{ a: addressOf({ ...view, shape, strides }) / 4, c: block.address / 4, m, n: 1, k, depth: terms },
    ...{ aRowStride: strides[1] * words, aDepthStride: strides[2] * words, cRowStride: spacing },
    ...{ bDepthStride: blockStride, bColumnStride: side === "a" ? spacing : panel },
    ...{ units, unitsPerTask: Math.ceil(units / tasks), rowUnits, rowsPerUnit: packedAtOnce[side] },
    ...{ columnUnits: 1, columnsPerUnit: 1 },
  }, batch(count, [strides[0], 0, stride / words]));
  return { block, spacing, blockStride, stride };
}

/** The batch axis of a kernel's operands. */
function batch(count: number, strides: readonly number[]) {
  return count === 1 ? [] : strides.map((stride) => ({ shape: [count, 1, 1], strides: [stride, 0, 0] }));
}

/** Multiplies packed matrices into `(count, m, n)`. */
function multiply(
  registers: Registers,
  start: Start,
  a: PackedMatrices,
  b: PackedMatrices,
  output: BufferView,
  k: number,
): void {
  const [count, m, n] = output.shape;
  const words = bytesPerElement(output.dtype) / 4;
  const isFlat = m <= blockRows;
  const wantedUnits = isFlat ? 16 : 8;
  const columnsPerUnit = isFlat ? 32 * Math.ceil(n / wantedUnits / 32) : Math.min(blockColumns, n);
  const columnUnits = Math.ceil(n / columnsPerUnit);
  const wantedRows = isFlat ? m : m / Math.ceil(wantedUnits / columnUnits);
  const rowsPerUnit = groupRows * Math.ceil(wantedRows / groupRows);
  const rowUnits = Math.ceil(m / rowsPerUnit);
  const units = count * rowUnits * columnUnits;
  const tasks = Math.min(maxTasks, units);
  start("packed", tasks, {
    ...{ a: a.block.address / 4, b: b.block.address / 4, c: addressOf(output) / 4, m, n, k },
    ...{ aRowStride: a.spacing, aDepthStride: a.blockStride },
    ...{ bColumnStride: b.spacing, bDepthStride: b.blockStride, cRowStride: output.strides[1] * words },
    ...{ units, unitsPerTask: Math.ceil(units / tasks), rowUnits, rowsPerUnit, columnUnits, columnsPerUnit },
    depth: Math.min(k, blockTerms),
    panels: isFlat ? panelsAtOnce(registers) : 4 * blockColumns * words / panelBytes(registers),
  }, batch(count, [a.stride / words, b.stride / words, output.strides[0]]));
}

/** (m, k) x (k, n) into a contiguous (m, n), for large matrices. */
export function multiplyLarge(
  memory: Memory,
  start: Start,
  a: BufferView,
  b: BufferView,
  output: BufferView,
): void {
  const [[m, k], n] = [a.shape, b.shape[1]];
  const right = new PackedRight(memory, start, b);
  const rowBytes = (k + n) * bytesPerElement(output.dtype);
  const rows = groupRows * Math.ceil(packedBytes / rowBytes / groupRows);
  for (let from = 0; from < m; from += rows) {
    const rowsOf = ({ shape: [, columns], strides, offset, ...view }: BufferView): BufferView => ({
      ...view,
      shape: [Math.min(rows, m - from), columns],
      strides,
      offset: offset + from * strides[0],
    });
    right.multiply(start, rowsOf(a), rowsOf(output));
  }
  right.free();
}

/** A right matrix that is packed once for many products. */
export class PackedRight implements PreparedMatrix {
  readonly #memory: Memory;
  readonly #packed: PackedMatrices;

  constructor(memory: Memory, start: Start, matrix: BufferView) {
    this.#memory = memory;
    this.#packed = pack(memory, start, "b", transposed(asBatch(matrix)));
  }

  /** Multiplies (m, k) by the matrix, into a contiguous (m, n). */
  multiply(start: Start, a: BufferView, output: BufferView): void {
    const packed = pack(this.#memory, start, "a", asBatch(a));
    multiply(this.#memory, start, packed, this.#packed, asBatch(output), a.shape[1]);
    this.#memory.release(packed.block);
  }

  free(): void {
    this.#memory.release(this.#packed.block);
  }
}

/** A matrix as a batch of one. */
function asBatch({ shape, strides, ...view }: BufferView): BufferView {
  return { ...view, shape: [1, ...shape], strides: [0, ...strides] };
}
