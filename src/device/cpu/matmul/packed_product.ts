/** How products of matrices that are packed as a whole are cut into tasks. */
import type { BufferView, PreparedMatrix } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { addressOf } from "../address.ts";
import { maxTasks } from "../kernels.ts";
import type { Block, Memory } from "../memory.ts";
import type { word } from "./descriptor.ts";
import { panelBytes, panelPadding } from "./packing.ts";
import { panelsAtOnce } from "./products.ts";
import { tileRows } from "./tile.ts";

/** Starts a kernel with the words of its descriptor. */
export type Start = (
  task: string,
  tasks: number,
  words: Partial<Record<keyof typeof word, number>>,
) => void;

/** The most rows whose block stays in the second-level cache, while two panels at a time stay in the first-level one. */
export const blockRows = 192;
/** Length of the summed axis of a block: two panels fill three quarters of the first-level cache, results are added to seldom. */
const blockTerms = 384;
/** Columns of a unit of more rows: their panels stay in the second-level cache, and rows pass by. */
const blockColumns = 256;
/** Rows or columns that a unit packs. */
const packedAtOnce = 64;
/** The most bytes that the copies of two matrices take: longer sums are cut. */
const packedBytes = 2 ** 26;

/** A matrix by blocks of terms. */
interface PackedMatrix {
  readonly block: Block;
  /** Words from a row of the left matrix, or a column of the right one, to the next, and from block to block. */
  readonly spacing: number;
  readonly blockStride: number;
}

/** Packs rows of the left matrix, or of the transposed right one; its columns are terms of the sum. */
function pack(
  memory: Memory,
  start: Start,
  side: "a" | "b",
  { shape, strides, ...view }: BufferView,
): PackedMatrix {
  const [m, k] = shape;
  const words = bytesPerElement(view.dtype) / 4;
  const panelColumns = panelBytes / (4 * words);
  const terms = Math.min(blockTerms, k);
  const panel = (terms * panelBytes + panelPadding) / 4;
  const spacing = side === "a" ? terms * words : panel / panelColumns;
  const blockStride = spacing * panelColumns * Math.ceil(m / panelColumns);
  const block = memory.allocate(4 * blockStride * Math.ceil(k / terms));
  const units = Math.ceil(m / packedAtOnce);
  const tasks = Math.min(maxTasks, units);
  start(`pack ${side}`, tasks, {
    ...{ a: addressOf({ ...view, shape, strides }) / 4, c: block.address / 4, m, n: 1, k, depth: terms },
    ...{ aRowStride: strides[0] * words, aDepthStride: strides[1] * words, cRowStride: spacing },
    ...{ bDepthStride: blockStride, bColumnStride: side === "a" ? spacing : panel },
    ...{ units, unitsPerTask: Math.ceil(units / tasks), rowUnits: units, rowsPerUnit: packedAtOnce },
    ...{ columnUnits: 1, columnsPerUnit: 1 },
  });
  return { block, spacing, blockStride };
}

/** Multiplies packed matrices, and adds to what is in the output if asked to. */
function multiply(
  start: Start,
  a: PackedMatrix,
  b: PackedMatrix,
  output: BufferView,
  k: number,
  adds: boolean,
): void {
  const [m, n] = output.shape;
  const words = bytesPerElement(output.dtype) / 4;
  const isFlat = m <= blockRows;
  const wantedUnits = isFlat ? 16 : 8;
  const columnsPerUnit = isFlat ? 32 * Math.ceil(n / wantedUnits / 32) : Math.min(blockColumns, n);
  const columnUnits = Math.ceil(n / columnsPerUnit);
  const wantedRows = isFlat ? m : m / Math.ceil(wantedUnits / columnUnits);
  const rowsPerUnit = tileRows * Math.ceil(wantedRows / tileRows);
  const rowUnits = Math.ceil(m / rowsPerUnit);
  const units = rowUnits * columnUnits;
  const tasks = Math.min(maxTasks, units);
  start("packed", tasks, {
    ...{ a: a.block.address / 4, b: b.block.address / 4, c: addressOf(output) / 4, m, n, k },
    ...{ aRowStride: a.spacing, aDepthStride: a.blockStride },
    ...{ bColumnStride: b.spacing, bDepthStride: b.blockStride, cRowStride: n * words },
    ...{ units, unitsPerTask: Math.ceil(units / tasks), rowUnits, rowsPerUnit, columnUnits, columnsPerUnit },
    ...{ depth: Math.min(k, blockTerms), accumulates: adds ? 1 : 0 },
    panels: isFlat ? panelsAtOnce : 4 * blockColumns * words / panelBytes,
  });
}

/** (m, k) x (k, n) into a contiguous (m, n), of which both are large. */
export function multiplyLarge(
  memory: Memory,
  start: Start,
  a: BufferView,
  b: BufferView,
  output: BufferView,
): void {
  const [[m, k], n] = [a.shape, b.shape[1]];
  const size = bytesPerElement(output.dtype);
  const most = blockTerms * Math.max(1, Math.floor(packedBytes / ((m + n) * blockTerms * size)));
  for (let done = 0; done < k; done += most) {
    const terms = Math.min(most, k - done);
    const rowsOf = (view: BufferView, row: number, term: number): BufferView => ({
      ...view,
      shape: [view.shape[row], terms],
      strides: [view.strides[row], view.strides[term]],
      offset: view.offset + done * view.strides[term],
    });
    const left = pack(memory, start, "a", rowsOf(a, 0, 1));
    const right = pack(memory, start, "b", rowsOf(b, 1, 0));
    multiply(start, left, right, output, terms, done > 0);
    memory.release(left.block);
    memory.release(right.block);
  }
}

/** A right matrix that is packed once for many products. */
export class PackedRight implements PreparedMatrix {
  readonly #memory: Memory;
  readonly #packed: PackedMatrix;

  constructor(memory: Memory, start: Start, { shape, strides, ...view }: BufferView) {
    this.#memory = memory;
    const rows = { ...view, shape: shape.toReversed(), strides: strides.toReversed() };
    this.#packed = pack(memory, start, "b", rows);
  }

  /** (m, k) times it into a contiguous (m, n). */
  multiply(start: Start, a: BufferView, output: BufferView): void {
    const left = pack(this.#memory, start, "a", a);
    multiply(start, left, this.#packed, output, a.shape[1], false);
    this.#memory.release(left.block);
  }

  free(): void {
    this.#memory.release(this.#packed.block);
  }
}
