/**
 * Matrix products. A microkernel keeps a tile of six rows by two vectors of the result in registers (twelve sums, two
 * vectors of the right matrix and one broadcast element of the left one fill the fifteen registers there are) and runs
 * along the summed axis. It reads small matrices where they lie. Of large ones, and of those whose rows are not
 * contiguous, a panel of the right matrix as wide as the tile is copied first, and stays in the first-level cache while
 * every row passes by it (after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
 * Products with few rows of matrices that both lie along the sum are scalar products instead.
 *
 * The order of summation depends on the shapes and strides alone, not on the number of threads.
 */
import { collapse } from "../../collapse.ts";
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { sizeOf } from "../../shape.ts";
import { addressOf } from "../address.ts";
import { writeAxes } from "../axes.ts";
import type { Memory } from "../memory.ts";
import type { Pool } from "../pool.ts";
import { newModule, Program } from "../program.ts";
import type { ModuleBuilder } from "../wasm.ts";
import { descriptorLength, word } from "./descriptor.ts";
import { emitDots } from "./dots.ts";
import { panelBytes } from "./packing.ts";
import { blockDepth, emitProducts } from "./products.ts";
import { tileRows, type Vectors } from "./tile.ts";

type Float = "float32" | "float64";

/** Rows that a unit of work has at most when it packs: more would not stay in the second-level cache. */
const blockRows = 192;
/** The most bytes of a right matrix that is read where it lies by more rows than four tiles have. */
const unpackedBytes = 32768;
/** Strides of the summed axis, in bytes, from which rows of the left matrix are worth packing. */
const farApart = 1024;
/** The most rows that are computed as scalar products. */
const maxDotRows = 4;
/** Multiplications worth a task of their own. */
const productsPerTask = 2 ** 20;

/** Multiplies matrices. */
export class Multiplier {
  readonly #memory: Memory;
  readonly #pool: Pool;
  readonly #copy: (view: BufferView) => BufferView;
  readonly #descriptor: number;
  readonly #programs = new Map<Float, Program>();

  /** @param copy Makes a view's elements lie row-major without gaps. */
  constructor(memory: Memory, pool: Pool, copy: (view: BufferView) => BufferView) {
    this.#memory = memory;
    this.#pool = pool;
    this.#copy = copy;
    this.#descriptor = memory.allocate(descriptorLength).address;
  }

  #program(type: Float): Program {
    let program = this.#programs.get(type);
    if (!program) this.#programs.set(type, program = new Program(this.#memory, emitModule(type)));
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

    // Strides of axes of length one are ours to choose.
    let aRow = m === 1 ? 1 : a.strides[rank - 2];
    let aDepth = k === 1 ? 1 : a.strides[rank - 1];
    if (aRow !== 1 && aDepth !== 1) {
      a = this.#copy(a);
      [aRow, aDepth] = [k, 1];
    }
    let bDepth = k === 1 ? 1 : b.strides[rank - 2];
    let bColumn = n === 1 ? 1 : b.strides[rank - 1];
    if (bDepth !== 1 && bColumn !== 1) {
      b = this.#copy(b);
      [bDepth, bColumn] = [n, 1];
    }
    if (n === 1) {
      // A matrix times a column is a row times the transposed matrix.
      [a, b, m, n] = [b, a, 1, m];
      [aRow, aDepth, bDepth, bColumn] = [1, bDepth, aDepth, aRow];
    }

    const dots = bColumn !== 1 && aDepth === 1 && m <= maxDotRows;
    const isLarge = k * n * size > unpackedBytes;
    const packsB = !dots && (bColumn !== 1 || isLarge && m > 4 * tileRows);
    const packsA = !dots && aDepth !== 1 && isLarge && aDepth * size >= farApart && m > tileRows && n >= 32;

    let rowsPerUnit = packsB || packsA ? blockRows : Math.max(tileRows, Math.floor(2 ** 17 / (n * k + 1)));
    rowsPerUnit = tileRows * Math.ceil(m / Math.ceil(m / rowsPerUnit) / tileRows);
    // Counted anew: whole tiles may need fewer units, and one behind the last row would read what is not there.
    const rowUnits = Math.ceil(m / rowsPerUnit);
    let columnsPerUnit = n;
    const products = m * n * k * batches;
    if (batches * rowUnits < 8 && products > 2 * productsPerTask) {
      const wanted = Math.ceil(8 / (batches * rowUnits));
      columnsPerUnit = 32 * Math.ceil(n / wanted / 32);
    }
    const columnUnits = Math.ceil(n / columnsPerUnit);
    const units = batches * rowUnits * columnUnits;
    const tasks = Math.max(1, Math.min(64, units, Math.floor(products / productsPerTask)));
    const scratchPerTask = (packsB ? panelBytes * blockDepth : 0) +
      (packsA ? rowsPerUnit * blockDepth * size : 0);
    const scratch = scratchPerTask > 0 ? this.#memory.allocate(scratchPerTask * tasks) : undefined;

    const descriptor = this.#pool.describe(this.#descriptor, descriptorLength);
    const words = this.#memory.i32;
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
    words[at + word.depth] = packsB || packsA ? blockDepth : k;
    words[at + word.packsA] = packsA ? 1 : 0;
    words[at + word.packsB] = packsB ? 1 : 0;
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
    this.#pool.run(program, dots ? "dots" : "products", tasks, descriptor);
    if (scratch) this.#memory.release(scratch);
  }
}

function emitModule(type: Float): ModuleBuilder {
  const vectors: Vectors = type === "float32"
    ? { size: 4, lanes: 4, bits: 32, name: "f32x4" }
    : { size: 8, lanes: 2, bits: 64, name: "f64x2" };
  const module = newModule();
  emitProducts(module, vectors);
  emitDots(module, vectors);
  return module;
}
