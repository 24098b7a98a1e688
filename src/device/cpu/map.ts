/**
 * Elementwise kernels. One is emitted for each function, operand types and kind of walk along the innermost axis of each
 * operand; shapes, strides, addresses and numbers are read from a descriptor, so few kernels serve many shapes.
 */
import { collapse } from "../collapse.ts";
import type { BufferView, View } from "../device.ts";
import { bytesPerElement, type DType } from "../dtype.ts";
import { lower } from "../float32_math.ts";
import { instantiate, type Scalar, type ScalarFunction, topological } from "../scalar.ts";
import { contiguousStrides, isContiguous, sizeOf } from "../shape.ts";
import { addressOf } from "./address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import type { Memory } from "./memory.ts";
import type { Pool } from "./pool.ts";
import { newModule, Program } from "./program.ts";
import { ScalarEmitter } from "./scalar_wasm.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "./wasm.ts";

/** How an operand is walked along the innermost axis. */
const enum Walk {
  /** Elements lie next to each other. */
  contiguous = 0,
  /** One element for the entire axis. */
  repeated = 1,
  /** Elements lie anywhere, at equal distances. */
  strided = 2,
  /** A number: no memory, one value for all axes. */
  number = 3,
}

/**
 * The descriptor, in words of 32 bits: this header; four words for each operand (address, stride of the innermost axis in
 * bytes, and a number's value); and the outer axes. Operands are the output, the inputs and, where the function reads it, the index, which counts elements
 * instead of bytes.
 */
const word = {
  count: 0,
  rows: 1,
  axes: 2,
  rowsPerTask: 3,
  countPerTask: 4,
  tasksPerRow: 5,
  header: 8,
} as const;

const maximumOperands = 20;
const maximumAxes = 32;
/** Bytes that a descriptor may take. */
const descriptorLength = 4 * (word.header + 4 * maximumOperands + maximumAxes * (1 + maximumOperands));

/** Operations worth a task of their own: some hundred microseconds. */
const operationsPerTask = 2 ** 18;

const dtypeCodes: Record<DType, number> = { float32: 0, float64: 1, int32: 2, uint32: 3, bool: 4 };

/** A function for operands of certain types, and its kernels by the operands' walks. */
interface Typed {
  readonly root: Scalar;
  readonly usesIndex: boolean;
  readonly operations: number;
  readonly kernels: Map<number, Program>;
}

/** Runs elementwise functions. */
export class Mapper {
  readonly #memory: Memory;
  readonly #pool: Pool;
  /** Of a function its instances, by a number made of the operands' types. */
  readonly #functions = new WeakMap<ScalarFunction, Map<number, Typed>>();
  readonly #byName = new Map<string, Map<number, Typed>>();
  readonly #descriptor: number;

  constructor(memory: Memory, pool: Pool) {
    this.#memory = memory;
    this.#pool = pool;
    this.#descriptor = memory.allocate(descriptorLength).address;
  }

  #typed(fn: ScalarFunction, inputs: readonly View[], output: DType): Typed {
    let instances = this.#functions.get(fn);
    if (!instances) {
      instances = this.#byName.get(fn.name);
      if (!instances) this.#byName.set(fn.name, instances = new Map());
      this.#functions.set(fn, instances);
    }
    let key = dtypeCodes[output];
    for (let i = 0; i < inputs.length; i++) key = key * 5 + dtypeCodes[inputs[i].dtype];
    let typed = instances.get(key);
    if (!typed) {
      if (inputs.length + 2 > maximumOperands) {
        throw new RangeError(
          `${fn.name}: ${inputs.length} operands, at most ${maximumOperands - 2} are possible`,
        );
      }
      const root = lower(instantiate(fn, inputs.map((input) => input.dtype)));
      const nodes = topological(root);
      typed = {
        root,
        usesIndex: nodes.some((node) => node.op === "index"),
        operations: nodes.length,
        kernels: new Map(),
      };
      instances.set(key, typed);
    }
    return typed;
  }

  /** output[i] = fn(inputs[0][i], inputs[1][i], ...). */
  run(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void {
    const { shape } = output;
    const size = sizeOf(shape);
    if (size === 0) return;
    const typed = this.#typed(fn, inputs, output.dtype);
    let flat = isContiguous(shape, output.strides);
    for (let i = 0; i < inputs.length && flat; i++) {
      flat = typeof inputs[i].source === "number" || isContiguous(shape, inputs[i].strides);
    }
    if (flat) this.#runFlat(typed, inputs, output, size);
    else this.#runStrided(typed, inputs, output, size);
  }

  #runFlat(typed: Typed, inputs: readonly View[], output: BufferView, size: number): void {
    const words = this.#memory.i32;
    let at = (this.#descriptor >>> 2) + word.header;
    words[at] = addressOf(output);
    let key = 0;
    for (let i = 0; i < inputs.length; i++) {
      at += 4;
      const input = inputs[i];
      if (typeof input.source === "number") {
        key = key * 4 + Walk.number;
        this.#writeNumber(at, input.dtype, input.source);
      } else {
        key *= 4;
        words[at] = addressOf(input as BufferView);
      }
    }
    if (typed.usesIndex) {
      words[at + 4] = 0;
      words[at + 5] = 1;
    }
    this.#launch(typed, key * 4, inputs, output.dtype, size, 1, 0);
  }

  #runStrided(typed: Typed, inputs: readonly View[], output: BufferView, size: number): void {
    const words = this.#memory.i32;
    const operands: View[] = [output, ...inputs];
    const isNumber = operands.map((operand) => typeof operand.source === "number");
    const walk = collapse(output.shape, [
      ...operands.filter((_, i) => !isNumber[i]).map((operand) => operand.strides),
      ...(typed.usesIndex ? [contiguousStrides(output.shape)] : []),
    ]);
    const last = walk.shape.length - 1;
    const count = walk.shape[last];
    let at = (this.#descriptor >>> 2) + word.header;
    let key = 0;
    let outputWalk = Walk.contiguous;
    let moving = 0;
    const sizes: number[] = [];
    operands.forEach((operand, i) => {
      let kind = Walk.number;
      if (isNumber[i]) this.#writeNumber(at, operand.dtype, operand.source as number);
      else {
        const stride = walk.strides[moving++][last];
        kind = count === 1 || stride === 1
          ? Walk.contiguous
          : stride === 0 && i > 0
          ? Walk.repeated
          : Walk.strided;
        const bytes = bytesPerElement(operand.dtype);
        sizes.push(bytes);
        words[at] = addressOf(operand as BufferView);
        words[at + 1] = stride * bytes;
      }
      at += 4;
      if (i === 0) outputWalk = kind;
      else key = key * 4 + kind;
    });
    if (typed.usesIndex) {
      words[at] = 0;
      words[at + 1] = walk.strides[moving][last];
      sizes.push(1);
      at += 4;
    }
    writeAxes(words, at, walk, sizes, 1);
    this.#launch(typed, key * 4 + outputWalk, inputs, output.dtype, count, size / count, last);
  }

  #writeNumber(at: number, dtype: DType, value: number): void {
    const memory = this.#memory;
    if (dtype === "float32") memory.f32[at + 2] = value;
    else if (dtype === "float64") memory.f64[(at + 2) >>> 1] = value;
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
    let program = typed.kernels.get(key);
    if (!program) {
      const walks: Walk[] = [];
      for (let i = inputs.length, rest = key; i >= 0; i--, rest = Math.floor(rest / 4)) walks.push(rest % 4);
      const outputWalk = walks.shift()!;
      const module = emitMap(typed, [output, ...inputs.map((x) => x.dtype)], [
        outputWalk,
        ...walks.reverse(),
      ]);
      typed.kernels.set(key, program = new Program(this.#memory, module));
    }
    const operations = count * rows * (typed.operations + 1);
    const shares = this.#pool.threads === 1 ? 1 : Math.min(64, Math.floor(operations / operationsPerTask));
    let [rowsPerTask, countPerTask] = [rows, count];
    if (shares > 1) {
      rowsPerTask = Math.ceil(rows / shares);
      if (rows < shares) countPerTask = Math.ceil(count / Math.ceil(shares / rows) / 64) * 64;
    }
    // A transposed operand touches a line of memory for each element: few enough of them stay for the next row's.
    if (isGathering(key) && rows > 1) countPerTask = Math.min(countPerTask, 128);
    const tasksPerRow = Math.ceil(count / countPerTask);
    const tasks = Math.ceil(rows / rowsPerTask) * tasksPerRow;
    const words = this.#memory.i32;
    const at = this.#descriptor >>> 2;
    words[at + word.count] = count;
    words[at + word.rows] = rows;
    words[at + word.axes] = axes;
    words[at + word.rowsPerTask] = rowsPerTask;
    words[at + word.countPerTask] = countPerTask;
    words[at + word.tasksPerRow] = tasksPerRow;
    if (shares > 1) this.#pool.run(program, "map", tasks, this.#descriptor);
    else for (let task = 0; task < tasks; task++) program.exports.map(task, this.#descriptor);
  }
}

/** Whether any operand of a kernel is strided, by the kernel's number. */
function isGathering(key: number): boolean {
  for (; key > 0; key = Math.floor(key / 4)) if (key % 4 === Walk.strided) return true;
  return false;
}

/** What is known of an operand when its kernel is emitted. */
interface Operand {
  readonly walk: Walk;
  readonly dtype: DType | "index";
  /** Where its words begin in the descriptor, in bytes. */
  readonly offset: number;
  readonly pointer: Local;
  readonly stride: Local;
  /** A repeated element or a number in all lanes; of the index its lanes at the start of the row. */
  readonly vector: Local;
}

const isMoving = ({ walk }: Operand) => walk !== Walk.number;
const bytesOf = ({ dtype }: Operand) => dtype === "index" ? 1 : bytesPerElement(dtype);

function emitMap({ root, usesIndex }: Typed, types: readonly DType[], walks: readonly Walk[]): ModuleBuilder {
  const module = newModule();
  const f = module.addFunction("map", ["i32", "i32"]);
  const [task, descriptor] = f.params;
  const operands = [...types, ...(usesIndex ? ["index" as const] : [])].map((dtype, i): Operand => ({
    walk: dtype === "index" ? Walk.strided : walks[i],
    dtype,
    offset: 4 * (word.header + 4 * i),
    pointer: f.local("i32"),
    stride: f.local("i32"),
    vector: f.local("v128"),
  }));
  const [output, ...rest] = operands;
  const index = usesIndex ? rest.pop() : undefined;
  const inputs = rest;
  const numbers = new Set(inputs.flatMap(({ walk }, i) => walk === Walk.number ? [i] : []));
  const scalar = new ScalarEmitter(module, f, root, numbers);
  const { lanes } = scalar;

  const read = (name: keyof typeof word) => () => f.load("i32.load", descriptor, 4 * word[name]);
  const [row, rowEnd, start, count] = f.locals("i32", 4);
  f.set(row, () => f.op("i32.mul", () => f.op("i32.div_u", task, read("tasksPerRow")), read("rowsPerTask")));
  f.set(rowEnd, () => f.op("i32.add", row, read("rowsPerTask")));
  f.set(count, read("rows"));
  f.set(rowEnd, () => f.smaller(rowEnd, count));
  f.set(
    start,
    () => f.op("i32.mul", () => f.op("i32.rem_u", task, read("tasksPerRow")), read("countPerTask")),
  );
  f.set(count, () => f.op("i32.sub", read("count"), start));
  const most = f.local("i32");
  f.set(most, read("countPerTask"));
  f.set(count, () => f.smaller(count, most));

  for (const operand of operands) {
    if (operand.walk === Walk.contiguous) f.set(operand.stride, bytesOf(operand));
    else if (isMoving(operand)) {
      f.set(operand.stride, () => f.load("i32.load", descriptor, operand.offset + 4));
    } else f.set(operand.vector, () => f.load(splatOf(operand), descriptor, operand.offset + 8));
  }
  scalar.emitUniform({ input: (position) => f.get(inputs[position].vector), index() {} });

  const moving = operands.filter(isMoving);
  const axes = f.local("i32");
  f.set(axes, read("axes"));
  const remaining = f.local("i32");
  const result = f.local("v128");
  /** The results of one vector, so many vectors on from where the pointers are. */
  const emitVector = (at: number, store: (offset: number) => void) => {
    const offset = (operand: Operand) => at * lanes * bytesOf(operand);
    scalar.emit({
      input: (position) => pushInput(f, inputs[position], lanes, offset(inputs[position])),
      index: () => f.get(index!.vector),
    });
    if (output.dtype === "bool") f.op("i32x4.neg"); // A mask becomes words of 0 and 1.
    f.set(result);
    store(offset(output));
    if (index) advanceIndex(f, index, lanes);
  };
  const advance = (vectors: number) => {
    for (const operand of [output, ...inputs]) {
      if (operand.walk === Walk.contiguous) f.increment(operand.pointer, vectors * lanes * bytesOf(operand));
    }
    f.increment(remaining, -vectors * lanes);
  };

  f.while(() => f.op("i32.lt_u", row, rowEnd), () => {
    for (const { pointer, stride, offset } of moving) {
      f.set(pointer, () => f.load("i32.load", descriptor, offset));
      f.increment(pointer, () => f.op("i32.mul", start, stride));
    }
    emitSeek(f, descriptor, 4 * (word.header + 4 * operands.length), axes, row, moving.map((x) => x.pointer));
    for (const input of inputs) {
      if (input.walk === Walk.repeated) f.set(input.vector, () => f.load(splatOf(input), input.pointer));
    }
    if (index) {
      f.i32x4(0, 1, 2, 3);
      f.op("i32x4.mul", () => f.op("i32x4.splat", index.stride));
      f.set(index.vector, () => f.op("i32x4.add", () => f.op("i32x4.splat", index.pointer)));
    }
    f.set(remaining, count);
    const isSimple = [output, ...inputs].every(({ walk }) => walk !== Walk.strided);
    if (isSimple && scalar.operations <= 8) {
      // Several vectors a turn, when there is so little to do that counting would show.
      const vectors = 4;
      f.while(() => f.op("i32.ge_s", remaining, vectors * lanes), () => {
        for (let i = 0; i < vectors; i++) {
          emitVector(i, (offset) => storeAll(f, output, lanes, result, offset));
        }
        advance(vectors);
      });
    }
    f.while(() => f.op("i32.gt_s", remaining, 0), () => {
      for (const input of inputs) if (input.walk === Walk.strided) gatherLanes(f, input, lanes, remaining);
      emitVector(0, () => {
        if (output.walk === Walk.strided) return storeLanes(f, output, lanes, result, remaining);
        f.if(
          () => f.op("i32.ge_s", remaining, lanes),
          () => storeAll(f, output, lanes, result, 0),
          () => storeLanes(f, output, lanes, result, remaining),
        );
      });
      advance(1);
    });
    f.increment(row, 1);
  });
  return module;
}

function splatOf(operand: Operand): Opcode {
  return bytesOf(operand) === 8 ? "v128.load64_splat" : "v128.load32_splat";
}

/** Pushes lanes of an input; strided ones have been gathered. */
function pushInput(f: FunctionBuilder, input: Operand, lanes: 2 | 4, offset: number): void {
  if (input.walk !== Walk.contiguous) return f.get(input.vector);
  // The last vector of a row may read past its end; those lanes are not stored.
  f.load(bytesOf(input) === 4 && lanes === 2 ? "v128.load64_zero" : "v128.load", input.pointer, offset);
}

/** Moves a strided operand one element on, unless its row ends before this lane. */
function stepLane(f: FunctionBuilder, { pointer, stride }: Operand, lane: number, remaining: Local): void {
  f.increment(pointer, () => f.op("select", stride, 0, () => f.op("i32.gt_s", remaining, lane)));
}

function gatherLanes(f: FunctionBuilder, input: Operand, lanes: 2 | 4, remaining: Local): void {
  const bits = 8 * bytesOf(input);
  f.set(input.vector, () => f.load(`v128.load${bits}_zero` as Opcode, input.pointer));
  for (let lane = 1; lane < lanes; lane++) {
    stepLane(f, input, lane, remaining);
    f.set(
      input.vector,
      () => f.laneMemory(`v128.load${bits}_lane` as Opcode, lane, input.pointer, input.vector),
    );
  }
  stepLane(f, input, lanes, remaining);
}

function storeAll(f: FunctionBuilder, output: Operand, lanes: 2 | 4, result: Local, offset: number): void {
  if (bytesOf(output) === 4 && lanes === 2) {
    f.laneMemory("v128.store64_lane", 0, output.pointer, result, offset);
  } else f.store("v128.store", output.pointer, result, offset);
}

/** Stores as many lanes as remain. A strided output moves on; a contiguous one is moved by who calls. */
function storeLanes(
  f: FunctionBuilder,
  output: Operand,
  lanes: 2 | 4,
  result: Local,
  remaining: Local,
): void {
  const bytes = bytesOf(output);
  const strided = output.walk === Walk.strided;
  const name = `v128.store${8 * bytes}_lane` as Opcode;
  for (let lane = 0; lane < lanes; lane++) {
    const store = () => f.laneMemory(name, lane, output.pointer, result, strided ? 0 : lane * bytes);
    if (lane === 0) store();
    else f.if(() => f.op("i32.gt_s", remaining, lane), store);
    if (strided) f.increment(output.pointer, output.stride);
  }
}

function advanceIndex(f: FunctionBuilder, { vector, stride }: Operand, lanes: 2 | 4): void {
  f.set(
    vector,
    () => f.op("i32x4.add", vector, () => f.op("i32x4.splat", () => f.op("i32.mul", stride, lanes))),
  );
}
