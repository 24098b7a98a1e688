/**
 * Elementwise kernels. A kernel is generated for each expression, operand types and spacing of the operands
 * along the innermost axis. Shapes, strides, addresses and numbers are in a descriptor, so a kernel serves
 * many shapes.
 */
import { collapse } from "../../collapse.ts";
import type { BufferView, View } from "../../device.ts";
import { bytesPerElement, type DType } from "../../dtype.ts";
import { ExpressionCache, maxInputs } from "../../scalar/expression_cache.ts";
import { lower } from "../../scalar/float32_math.ts";
import { type Scalar, type ScalarFunction, topological } from "../../scalar/scalar.ts";
import { contiguousStrides, isContiguous, sizeOf } from "../../shape.ts";
import { addressOf } from "../assembler/address.ts";
import { writeAxes } from "./axes.ts";
import { emitMap, Spacing, word } from "./map_kernel.ts";
import type { Memory } from "../runtime/memory.ts";
import type { ThreadPool } from "../runtime/thread_pool.ts";
import { Executable, newModule } from "../runtime/executable.ts";

/** The output, the inputs, and the index of an element. */
const maximumOperands = maxInputs + 2;
const maximumAxes = 32;
/** Bytes of a descriptor. */
const bytesFor = (operands: number, axes: number) => 4 * (word.header + 4 * operands + axes * (1 + operands));
const descriptorLength = bytesFor(maximumOperands, maximumAxes);

/** Operations per task: about fifty microseconds. */
const operationsPerTask = 2 ** 17;
/** Operations that take as long as the step from one row to the next, which dominates for short rows. */
const operationsPerRow = 2 ** 5;

/** An expression with its operand types, and its kernels by the spacings of the operands. */
interface Typed {
  readonly root: Scalar;
  readonly usesIndex: boolean;
  readonly operations: number;
  readonly kernels: Map<number, Executable>;
}

/** Runs elementwise functions. */
export class Mapper {
  readonly #memory: Memory;
  readonly #pool: ThreadPool;
  readonly #functions = new ExpressionCache<Typed>();
  readonly #shared: number;
  /** Address of the descriptor. */
  #descriptor: number;

  constructor(memory: Memory, pool: ThreadPool) {
    this.#memory = memory;
    this.#pool = pool;
    this.#descriptor = this.#shared = memory.allocate(descriptorLength).address;
  }

  /** output[i] = fn(inputs[0][i], inputs[1][i], ...). */
  run(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void {
    const { shape } = output;
    const size = sizeOf(shape);
    if (size === 0) return;
    const typed = this.#functions.get(fn, inputs, output.dtype, typedOf);
    this.#descriptor = this.#pool.describe(this.#shared, bytesFor(inputs.length + 2, shape.length));
    let flat = isContiguous(shape, output.strides);
    for (let i = 0; i < inputs.length && flat; i++) {
      flat = typeof inputs[i].source === "number" || isContiguous(shape, inputs[i].strides);
    }
    if (flat) this.#runFlat(typed, inputs, output, size);
    else this.#runStrided(typed, inputs, output, size);
  }

  #runFlat(typed: Typed, inputs: readonly View[], output: BufferView, size: number): void {
    let at = (this.#descriptor / 4) + word.header;
    this.#writeAddress(at, output);
    let key = 0;
    for (let i = 0; i < inputs.length; i++) {
      at += 4;
      const input = inputs[i];
      if (typeof input.source === "number") {
        key = key * 4 + Spacing.number;
        this.#writeNumber(at, input.dtype, input.source);
      } else {
        key *= 4;
        this.#writeAddress(at, input as BufferView);
      }
    }
    if (typed.usesIndex) {
      const words = this.#memory.i32;
      words[at + 4] = 0;
      words[at + 5] = 1;
    }
    this.#launch(typed, key * 4, inputs, output.dtype, size, 1, 0);
  }

  #runStrided(typed: Typed, inputs: readonly View[], output: BufferView, size: number): void {
    const operands: View[] = [output, ...inputs];
    const isNumber = operands.map((operand) => typeof operand.source === "number");
    const walk = collapse(output.shape, [
      ...operands.filter((_, i) => !isNumber[i]).map((operand) => operand.strides),
      ...(typed.usesIndex ? [contiguousStrides(output.shape)] : []),
    ]);
    const last = walk.shape.length - 1;
    const count = walk.shape[last];
    let at = (this.#descriptor / 4) + word.header;
    let key = 0;
    let outputSpacing = Spacing.contiguous;
    let moving = 0;
    const sizes: number[] = [];
    operands.forEach((operand, i) => {
      let kind = Spacing.number;
      if (isNumber[i]) this.#writeNumber(at, operand.dtype, operand.source as number);
      else {
        const stride = walk.strides[moving++][last];
        kind = count === 1 || stride === 1
          ? Spacing.contiguous
          : stride === 0 && i > 0
          ? Spacing.repeated
          : Spacing.strided;
        const size = bytesPerElement(operand.dtype) / 4;
        sizes.push(size);
        this.#writeAddress(at, operand as BufferView);
        this.#memory.i32[at + 1] = stride * size;
      }
      at += 4;
      if (i === 0) outputSpacing = kind;
      else key = key * 4 + kind;
    });
    const words = this.#memory.i32;
    if (typed.usesIndex) {
      words[at] = 0;
      words[at + 1] = walk.strides[moving][last];
      sizes.push(1);
      at += 4;
    }
    writeAxes(words, at, walk, sizes, 1);
    this.#launch(typed, key * 4 + outputSpacing, inputs, output.dtype, count, size / count, last);
  }

  /** Writes an address, which can give the buffer memory: the views of a memory that is not shared end when it grows. */
  #writeAddress(at: number, view: BufferView): void {
    const address = addressOf(view) / 4;
    this.#memory.i32[at] = address;
  }

  #writeNumber(at: number, dtype: DType, value: number): void {
    const memory = this.#memory;
    if (dtype === "float32") memory.f32[at + 2] = value;
    else if (dtype === "float64") memory.f64[(at + 2) / 2] = value;
    else memory.i32[at + 2] = dtype === "bool" ? value ? 1 : 0 : value;
  }

  #launch(
    typed: Typed,
    key: number,
    inputs: readonly View[],
    output: DType,
    count: number,
    rows: number,
    axes: number,
  ): void {
    let executable = typed.kernels.get(key);
    if (!executable) {
      const spacings: Spacing[] = [];
      for (let i = inputs.length, rest = key; i >= 0; i--, rest = Math.floor(rest / 4)) {
        spacings.push(rest % 4);
      }
      const outputSpacing = spacings.shift()!;
      const module = newModule(this.#memory);
      emitMap(module, typed.root, typed.usesIndex, [output, ...inputs.map((x) => x.dtype)], [
        outputSpacing,
        ...spacings.reverse(),
      ]);
      typed.kernels.set(key, executable = new Executable(this.#memory, module));
    }
    const operations = rows * (count * (typed.operations + 1) + operationsPerRow);
    const shares = this.#pool.threads === 1 ? 1 : Math.min(64, Math.floor(operations / operationsPerTask));
    let [rowsPerTask, countPerTask] = [rows, count];
    if (shares > 1) {
      rowsPerTask = Math.ceil(rows / shares);
      if (rows < shares) countPerTask = Math.ceil(count / Math.ceil(shares / rows) / 64) * 64;
    }
    // A transposed operand touches a cache line per element. With few enough elements, the lines stay in the
    // cache for the next row.
    if (isGathering(key) && rows > 1) countPerTask = Math.min(countPerTask, 128);
    const tasksPerRow = Math.ceil(count / countPerTask);
    const tasks = Math.ceil(rows / rowsPerTask) * tasksPerRow;
    const words = this.#memory.i32;
    const at = this.#descriptor / 4;
    words[at + word.count] = count;
    words[at + word.rows] = rows;
    words[at + word.axes] = axes;
    words[at + word.rowsPerTask] = rowsPerTask;
    words[at + word.countPerTask] = countPerTask;
    words[at + word.tasksPerRow] = tasksPerRow;
    if (shares > 1) this.#pool.run(executable, "map", tasks, this.#descriptor);
    else this.#pool.runHere(executable.exports.map, tasks, this.#descriptor);
  }
}

function typedOf(expression: Scalar): Typed {
  const root = lower(expression);
  const nodes = topological(root);
  return {
    root,
    usesIndex: nodes.some((node) => node.op === "index"),
    operations: nodes.length,
    kernels: new Map(),
  };
}

/** Whether an operand is strided, from the key of the kernel. */
function isGathering(key: number): boolean {
  for (; key > 0; key = Math.floor(key / 4)) if (key % 4 === Spacing.strided) return true;
  return false;
}
