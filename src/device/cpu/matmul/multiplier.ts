/**
 * Matrix products. A microkernel keeps a tile of the result in registers, six rows by two registers: twelve
 * sums, two registers of the right matrix and one broadcast element of the left matrix use the fifteen
 * available registers. It reads small matrices in place. For large or non-contiguous matrices, panels of the
 * right matrix with the width of a tile are copied ("packed") first, and stay in the first-level cache while
 * all rows are multiplied by them (Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", 2008). Large matrices with many rows, or for several products, are packed completely, for
 * tiles of five rows.
 *
 * A product of few rows or columns with a large matrix takes as long as reading the matrix. It is read once
 * and in order: contiguous rows as updates of the entire result, five rows at a time; contiguous columns as
 * scalar products.
 *
 * Long sums are split into segments, which are added at the end: see ./segments.ts. Products of large
 * matrices add blocks of terms anyway.
 *
 * The order of summation depends only on shapes and strides, not on the number of threads.
 */
import { collapse } from "../../collapse.ts";
import type { BufferView, KernelDevice, PreparedMatrix } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { sizeOf } from "../../shape.ts";
import { identity } from "../../scalar/scalar.ts";
import { allocateView, copy, transposed } from "../../view.ts";
import { addressOf } from "../assembler/address.ts";
import { writeAxes } from "../kernels/axes.ts";
import { type Kernels, tasksFor } from "../kernels/kernels.ts";
import type { ModuleBuilder } from "../assembler/wasm.ts";
import type { Blas } from "./native.ts";
import { word } from "./descriptor.ts";
import { dotBytes, emitDots } from "./dots.ts";
import { emitPackedProduct, emitPacking } from "./packed.ts";
import { blockRows, multiplyLarge, PackedRight, type ProductTask, type Start } from "./packed_product.ts";
import { multiplyInSegments } from "./segments.ts";
import { blockDepth, emitProducts, panelsAtOnce, wholePanelBytes } from "./products.ts";
import { tileRows, type Vectors } from "./tile.ts";
import { emitUpdates, updateBytes } from "./updates.ts";

type Float = "float32" | "float64";

/** Maximum bytes of a right matrix that is read in place if the left matrix has more rows than four tiles. */
const unpackedBytes = 32768;
/** Rows of the left matrix are packed if the stride of the summed axis has at least this number of bytes. */
const farApart = 1024;
/** Maximum rows or columns of a product that takes as long as reading the other matrix. */
const maxFewRows = 31;
/** Minimum bytes of that other matrix. Smaller matrices stay in a cache. */
const cachedBytes = 2 ** 18;
/** Maximum rows that are computed as scalar products for every size. */
const maxDotRows = 4;
/** Columns of a unit whose rows are read in order: each row of the unit spans several memory pages. */
const streamedColumns = 2400;
/** Panels that are packed at a time if rows are contiguous: longer reads are faster. */
const rowPanels = 8;
/** Minimum multiplications of a product with a completely packed matrix. */
const minPackedProducts = 2 ** 24;
/**
 * Maximum terms of a float32 sum. Longer sums are split into segments, which are added in float64, because
 * rounding errors grow with the number of terms.
 */
const maxTerms = 8192;
/** Multiplications per task. */
const productsPerTask = 2 ** 20;

/** Multiplies matrices. */
export class Multiplier {
  readonly #device: KernelDevice;
  readonly #kernels: Kernels;
  readonly #blas: Blas | undefined;

  /**
   * @param device Device of the matrices, for temporary tensors and sums.
   * @param blas Native library for large products.
   */
  constructor(device: KernelDevice, kernels: Kernels, blas: Blas | undefined) {
    this.#device = device;
    this.#kernels = kernels;
    this.#blas = blas;
  }

  /**
   * Runs a kernel with the words of its descriptor. Words that are not given are 0. The leading axes of
   * `batched` views are batch axes.
   */
  #start(
    type: Float,
    task: ProductTask,
    tasks: number,
    values: Partial<Record<keyof typeof word, number>>,
    batched: readonly Pick<BufferView, "shape" | "strides">[] = [],
  ): void {
    const description = new Array<number>(word.axes).fill(0);
    for (const [name, value] of Object.entries(values)) description[word[name as keyof typeof word]] = value;
    if (batched.length > 0) {
      const leading = (list: readonly number[]) => list.slice(0, -2);
      const walk = collapse(leading(batched.at(-1)!.shape), batched.map(({ strides }) => leading(strides)));
      description[word.batchAxes] = walk.shape.length;
      const wordsPerElement = bytesPerElement(type) / 4;
      writeAxes(description, word.axes, walk, batched.map(() => wordsPerElement));
    }
    this.#kernels.run(
      `matmul ${task} ${type}`,
      (module) => emitTask(module, task, type),
      task,
      tasks,
      description,
    );
  }

  /** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
  run(a: BufferView, b: BufferView, output: BufferView, prepared?: PreparedMatrix): void {
    if (prepared instanceof PackedRight) return prepared.multiply(this.#startOf(output), a, output);
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
    // Strides of axes of length one are arbitrary.
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

    const native = this.#blas?.product([a, b, output], [m, n, k], { aRow, aDepth, bDepth, bColumn });
    if (native) return this.#device.runOnHost(native);

    if (batches === 1 && m > blockRows && n > blockRows && m * n * k >= minPackedProducts) {
      const view = (matrix: BufferView, shape: number[], strides: number[]) => ({
        ...matrix,
        shape,
        strides,
      });
      multiplyLarge(
        this.#kernels.memory,
        this.#startOf(output),
        view(a, [m, k], [aRow, aDepth]),
        view(b, [k, n], [bDepth, bColumn]),
        view(output, [m, n], [n, 1]),
      );
      for (const { source } of copies) source.free();
      return;
    }
    if (k > maxTerms && output.dtype === "float32") {
      const strides = { aRow, aDepth, bDepth, bColumn };
      multiplyInSegments(
        this.#device,
        (...views) => this.run(...views),
        [a, b, output],
        [m, n, k],
        strides,
        maxTerms,
      );
      for (const { source } of copies) source.free();
      return;
    }
    const isLarge = k * n * size > unpackedBytes;
    const isThin = m <= maxFewRows && k * n * size > cachedBytes;
    if (isThin && bColumn !== 1 && aDepth !== 1) {
      a = copied(a);
      [aRow, aDepth] = [k, 1];
    }
    const dots = bColumn !== 1 && aDepth === 1 && (isThin || m <= maxDotRows);
    // With more rows, packing is faster.
    const updates = isThin && bColumn === 1 && m <= 4 * tileRows;
    const packsB = !dots && !updates && (bColumn !== 1 || isLarge && m > 4 * tileRows);
    const packsA = !dots && !updates && aDepth !== 1 && isLarge && aDepth * size >= farApart &&
      m > tileRows &&
      n >= 32;

    const { memory, pool } = this.#kernels;
    let rowsPerUnit = dots && isThin || updates
      ? m
      : packsB || packsA
      ? blockRows
      : Math.max(tileRows, Math.floor(2 ** 17 / (n * k + 1)));
    rowsPerUnit = tileRows * Math.ceil(m / Math.ceil(m / rowsPerUnit) / tileRows);
    // Computed again, because complete tiles may need fewer units, and a unit after the last row would read
    // past the matrix.
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
    const tasks = Math.min(units, tasksFor(products, productsPerTask));
    const panels = !packsB ? 0 : bColumn === 1 ? rowPanels : panelsAtOnce(memory);
    const scratchPerTask = panels * wholePanelBytes(memory) +
      (packsA ? rowsPerUnit * blockDepth * size : 0) +
      (updates ? updateBytes(memory, size, rowsPerUnit, columnsPerUnit) : dots ? dotBytes(memory) : 0);
    const scratch = scratchPerTask > 0 ? memory.allocate(scratchPerTask * tasks) : undefined;

    this.#start(output.dtype as Float, dots ? "dots" : updates ? "updates" : "products", tasks, {
      ...{ a: addressOf(a) / 4, b: addressOf(b) / 4, c: addressOf(output) / 4, m, n, k },
      ...{ aRowStride: aRow * size / 4, aDepthStride: aDepth * size / 4 },
      ...{ bDepthStride: bDepth * size / 4, bColumnStride: bColumn * size / 4, cRowStride: n * size / 4 },
      ...{
        units,
        unitsPerTask: Math.ceil(units / tasks),
        rowUnits,
        rowsPerUnit,
        columnUnits,
        columnsPerUnit,
      },
      depth: packsB || packsA ? blockDepth : k,
      packsA: packsA ? 1 : 0,
      panels,
      scratch: (scratch?.address ?? 0) / 4,
      scratchPerTask: scratchPerTask / 4,
    }, batches > 1 ? [a, b, output] : []);
    if (scratch) memory.release(scratch);
    for (const { source } of copies) source.free();
  }

  /** See `DeviceKernels.prepare`. */
  prepare(right: BufferView, rows: number): PreparedMatrix | undefined {
    const [k, n] = right.shape;
    const isLarge = rows * k * n >= minPackedProducts && Math.min(n, k) > blockRows;
    if (!isLarge || rows <= maxFewRows || this.#blas) return undefined;
    return new PackedRight(this.#kernels.memory, this.#startOf(right), right);
  }

  #startOf({ dtype }: BufferView): Start {
    return (...job) => this.#start(dtype as Float, ...job);
  }

  /** Computes the product of the transposed matrices, so that the right matrix is the large one. */
  #runTransposed(a: BufferView, b: BufferView, output: BufferView): void {
    const [left, right, result] = [b, a, output].map(transposed);
    const product = allocateView(this.#device, result.shape, output.dtype);
    this.run(left, right, product);
    this.#device.map(identity, [transposed(product)], output);
    product.source.free();
  }
}

/** The code of each kernel. A module has one kernel, because most programs need few of them. */
const emitters: Record<ProductTask, (module: ModuleBuilder, vectors: Vectors) => void> = {
  "products": emitProducts,
  "updates": emitUpdates,
  "dots": emitDots,
  "packed": emitPackedProduct,
  "pack a": (module, vectors) => emitPacking(module, vectors, "a"),
  "pack b": (module, vectors) => emitPacking(module, vectors, "b"),
};

function emitTask(module: ModuleBuilder, task: ProductTask, type: Float): void {
  emitters[task](
    module,
    type === "float32"
      ? { size: 4, lanes: 4, bits: 32, name: "f32x4" }
      : { size: 8, lanes: 2, bits: 64, name: "f64x2" },
  );
}
