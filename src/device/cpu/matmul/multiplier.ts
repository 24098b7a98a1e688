/**
 * Matrix products. A microkernel keeps a tile of six rows by two vectors of the result in registers (twelve sums, two
 * vectors of the right matrix and one broadcast element of the left one fill the fifteen registers there are) and runs
 * along the summed axis. It reads small matrices where they lie. Of large ones, and of those whose rows are not
 * contiguous, two panels of the right matrix, each as wide as the tile, are copied first, and stay in the first-level cache
 * while every row passes by them (after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
 * A product with few rows or columns and a large matrix takes as long as that matrix takes to be read, so it is read once and
 * in order: rows that are contiguous five at a time, as updates of the whole result, those that lie along the sum as scalar
 * products.
 *
 * The order of summation depends on the shapes and strides alone, not on the number of threads.
 */
import { collapse } from "../../collapse.ts";
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { sizeOf } from "../../shape.ts";
import { identity } from "../../scalar.ts";
import { allocateView, copy } from "../../view.ts";
import { addressOf } from "../address.ts";
import { writeAxes } from "../axes.ts";
import type { CpuDevice } from "../device.ts";
import { Executable, newModule } from "../executable.ts";
import type { ModuleBuilder } from "../wasm.ts";
import { descriptorLength, word } from "./descriptor.ts";
import { emitDots } from "./dots.ts";
import { emitPackRows } from "./packing.ts";
import { nativeProduct } from "./native.ts";
import { blockDepth, emitProducts, panelsAtOnce, wholePanelBytes } from "./products.ts";
import { tileRows, type Vectors } from "./tile.ts";
import { emitUpdates, updateBytes } from "./updates.ts";

type Float = "float32" | "float64";

/** Rows that a unit of work has at most when it packs: more would not stay in the second-level cache. */
const blockRows = 192;
/** The most bytes of a right matrix that is read where it lies by more rows than four tiles have. */
const unpackedBytes = 32768;
/** Strides of the summed axis, in bytes, from which rows of the left matrix are worth packing. */
const farApart = 1024;
/** The most rows or columns of a thin product: it takes as long as reading the other matrix. */
const maxFewRows = 31;
/** Bytes of that matrix from which reading it takes long: fewer stay in a cache. */
const cachedBytes = 2 ** 18;
/** The most rows that are computed as scalar products whatever the size. */
const maxDotRows = 4;
/** Terms that scalar products take at a time, which of the columns of a tile stay in the first-level cache. */
const dotDepth = 1024;
/** Columns of a unit whose rows are read in order: what is read of a row is then more than a page. */
const streamedColumns = 1200;
/** Panels that are packed at a time of a matrix whose rows are contiguous, of which long pieces are read more quickly. */
const rowPanels = 8;
/** Multiplications worth a task of their own. */
const productsPerTask = 2 ** 20;

/** Multiplies matrices. */
export class Multiplier {
  readonly #device: CpuDevice;
  readonly #descriptor: number;
  readonly #programs = new Map<Float, Executable>();

  constructor(device: CpuDevice) {
    this.#device = device;
    this.#descriptor = device.memory.allocate(descriptorLength).address;
  }

  #program(type: Float): Executable {
    let program = this.#programs.get(type);
    if (!program) this.#programs.set(type, program = new Executable(this.#device.memory, emitModule(type)));
    return program;
  }

  /** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
  run(a: BufferView, b: BufferView, output: BufferView): void {
    const rank = output.shape.length;
    const k = a.shape[rank - 1];
    let [m, n] = [output.shape[rank - 2], output.shape[rank - 1]];
    const size = bytesPerElement(output.dtype);
    const batches = sizeOf(output.shape) / (m * n);
    if (!(m * n * batches > 0)) return;
    if (n > 1 && n < m && n <= maxFewRows && m * k * size > cachedBytes) {
      return this.#runTransposed(a, b, output);
    }

    const copies: BufferView[] = [];
    const copied = (view: BufferView) => {
      copies.push(copy(this.#device, view));
      return copies.at(-1)!;
    };
    // Strides of axes of length one are ours to choose.
    let aRow = m === 1 ? 1 : a.strides[rank - 2];
    let aDepth = k === 1 ? 1 : a.strides[rank - 1];
    if (aRow !== 1 && aDepth !== 1) {
      a = copied(a);
      [aRow, aDepth] = [k, 1];
    }
    let bDepth = k === 1 ? 1 : b.strides[rank - 2];
    let bColumn = n === 1 ? 1 : b.strides[rank - 1];
    if (bDepth !== 1 && bColumn !== 1) {
      b = copied(b);
      [bDepth, bColumn] = [n, 1];
    }
    if (n === 1) {
      // A matrix times a column is a row times the transposed matrix.
      [a, b, m, n] = [b, a, 1, m];
      [aRow, aDepth, bDepth, bColumn] = [1, bDepth, aDepth, aRow];
    }

    const { blas } = this.#device;
    const native = blas && nativeProduct(blas, [a, b, output], [m, n, k], { aRow, aDepth, bDepth, bColumn });
    if (native) return this.#device.runOnHost(native);

    const isLarge = k * n * size > unpackedBytes;
    const isThin = m <= maxFewRows && k * n * size > cachedBytes;
    if (isThin && bColumn !== 1 && aDepth !== 1) {
      a = copied(a);
      [aRow, aDepth] = [k, 1];
    }
    const dots = bColumn !== 1 && aDepth === 1 && (isThin || m <= maxDotRows);
    // More rows are worth packing.
    const updates = isThin && bColumn === 1 && m <= 4 * tileRows;
    const packsB = !dots && !updates && (bColumn !== 1 || isLarge && m > 4 * tileRows);
    const packsA = !dots && !updates && aDepth !== 1 && isLarge && aDepth * size >= farApart &&
      m > tileRows &&
      n >= 32;

    const { memory, pool } = this.#device;
    let rowsPerUnit = dots && isThin || updates
      ? m
      : packsB || packsA
      ? blockRows
      : Math.max(tileRows, Math.floor(2 ** 17 / (n * k + 1)));
    rowsPerUnit = tileRows * Math.ceil(m / Math.ceil(m / rowsPerUnit) / tileRows);
    // Counted anew: whole tiles may need fewer units, and one behind the last row would read what is not there.
    const rowUnits = Math.ceil(m / rowsPerUnit);
    let columnsPerUnit = n;
    const products = m * n * k * batches;
    if (batches * rowUnits < 8 && products > 2 * productsPerTask) {
      const wanted = updates
        ? Math.min(2 * pool.threads, Math.max(pool.threads, Math.floor(n / streamedColumns)))
        : Math.ceil(8 / (batches * rowUnits));
      columnsPerUnit = 32 * Math.ceil(n / wanted / 32);
    }
    const columnUnits = Math.ceil(n / columnsPerUnit);
    const units = batches * rowUnits * columnUnits;
    const tasks = Math.max(1, Math.min(64, units, Math.floor(products / productsPerTask)));
    const panels = !packsB ? 0 : bColumn === 1 ? rowPanels : panelsAtOnce;
    const scratchPerTask = panels * wholePanelBytes +
      (packsA ? rowsPerUnit * blockDepth * size : 0) + (updates ? m * updateBytes(size) : 0);
    const scratch = scratchPerTask > 0 ? memory.allocate(scratchPerTask * tasks) : undefined;

    const descriptor = pool.describe(this.#descriptor, descriptorLength);
    const words = memory.i32;
    const at = descriptor / 4;
    words[at + word.a] = addressOf(a) / 4;
    words[at + word.b] = addressOf(b) / 4;
    words[at + word.c] = addressOf(output) / 4;
    words[at + word.m] = m;
    words[at + word.n] = n;
    words[at + word.k] = k;
    words[at + word.aRowStride] = aRow * size / 4;
    words[at + word.aDepthStride] = aDepth * size / 4;
    words[at + word.bDepthStride] = bDepth * size / 4;
    words[at + word.bColumnStride] = bColumn * size / 4;
    words[at + word.cRowStride] = n * size / 4;
    words[at + word.units] = units;
    words[at + word.unitsPerTask] = Math.ceil(units / tasks);
    words[at + word.rowUnits] = rowUnits;
    words[at + word.rowsPerUnit] = rowsPerUnit;
    words[at + word.columnUnits] = columnUnits;
    words[at + word.columnsPerUnit] = columnsPerUnit;
    words[at + word.depth] = dots ? dotDepth : packsB || packsA ? blockDepth : k;
    words[at + word.packsA] = packsA ? 1 : 0;
    words[at + word.panels] = panels;
    words[at + word.scratch] = (scratch?.address ?? 0) / 4;
    words[at + word.scratchPerTask] = scratchPerTask / 4;
    words[at + word.batchAxes] = 0;
    if (batches > 1) {
      const leading = [a, b, output].map((view) => view.strides.slice(0, rank - 2));
      const walk = collapse(output.shape.slice(0, rank - 2), leading);
      words[at + word.batchAxes] = walk.shape.length;
      writeAxes(words, at + word.axes, walk, [size / 4, size / 4, size / 4]);
    }
    const program = this.#program(output.dtype as Float);
    pool.run(program, dots ? "dots" : updates ? "updates" : "products", tasks, descriptor);
    if (scratch) memory.release(scratch);
    for (const { source } of copies) source.free();
  }

  /** By the product of the transposed matrices, of which the right one is then the large one. */
  #runTransposed(a: BufferView, b: BufferView, output: BufferView): void {
    const [left, right, result] = [b, a, output].map(transposed);
    const product = allocateView(this.#device, result.shape, output.dtype);
    this.run(left, right, product);
    this.#device.map(identity, [transposed(product)], output);
    product.source.free();
  }
}

/** The last two axes exchanged. */
function transposed(view: BufferView): BufferView {
  const swap = (list: readonly number[]) => [...list.slice(0, -2), list.at(-1)!, list.at(-2)!];
  return { ...view, shape: swap(view.shape), strides: swap(view.strides) };
}

function emitModule(type: Float): ModuleBuilder {
  const vectors: Vectors = type === "float32"
    ? { size: 4, lanes: 4, bits: 32, name: "f32x4" }
    : { size: 8, lanes: 2, bits: 64, name: "f64x2" };
  const module = newModule();
  const packRows = emitPackRows(module, vectors);
  emitProducts(module, vectors, packRows);
  emitUpdates(module, vectors, packRows);
  emitDots(module, vectors);
  return module;
}
