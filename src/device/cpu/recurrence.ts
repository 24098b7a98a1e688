/**
 * Linear recurrences. One line is a chain of products and sums, so the lanes of a vector, and several vectors at a time, hold
 * different lines; threads share the lines.
 */
import type { BufferView } from "../device.ts";
import { bytesPerElement } from "../dtype.ts";
import { type RecurrenceAxes, type RecurrenceLines, recurrenceLines } from "../recurrence.ts";
import { sizeOf } from "../shape.ts";
import { addressOf } from "./address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import { addTask, Executable, newModule } from "./executable.ts";
import { laneAccess, type Lanes, lanesOf } from "./lane_access.ts";
import type { Memory } from "./memory.ts";
import type { Pool } from "./pool.ts";
import type { Local, ModuleBuilder, Opcode } from "./wasm.ts";

/** Vectors of lines that go together where there are enough neighbouring ones. */
const widest = 4;

/**
 * Words of the descriptor: these, then of each operand its address, and in words the distances from line to line, from element to
 * element and from real to imaginary parts, then the axes of the rows of lines.
 */
const word = { blocks: 0, blocksPerTask: 1, blocksPerRow: 2, columns: 3, length: 4, rowAxes: 5, operands: 6 };
const wordsPerOperand = 4;
const axesAt = word.operands + 3 * wordsPerOperand;
const maximumAxes = 32;
const descriptorLength = 4 * (axesAt + 4 * maximumAxes);

/** Elements of all lines worth a task of their own. */
const elementsPerTask = 2 ** 14;

/** What a kernel is made for. */
interface Layout {
  readonly size: 4 | 8;
  readonly complex: boolean;
  /** Vectors of lines that go together. */
  readonly groups: number;
  readonly kinds: readonly Lanes[];
}

/** Runs linear recurrences. */
export class RecurrenceRunner {
  readonly #memory: Memory;
  readonly #pool: Pool;
  readonly #descriptor: number;
  readonly #executables = new Map<string, Executable>();

  constructor(memory: Memory, pool: Pool) {
    this.#memory = memory;
    this.#pool = pool;
    this.#descriptor = memory.allocate(descriptorLength).address;
  }

  /**
   * See `Device.linearRecurrence`.
   *
   * @param views a, b and output.
   */
  run(views: readonly BufferView[], axes: RecurrenceAxes): void {
    const output = views[2];
    if (sizeOf(output.shape) === 0) return;
    const walk = recurrenceLines(views, axes);
    const columns = walk.lines.shape.at(-1)!;
    const size = bytesPerElement(output.dtype) as 4 | 8;
    // Full vectors of neighbouring lines, then the rest of each row line by line.
    const whole = columns - columns % (widest * 16 / size);
    const layout = { size, complex: axes.parts !== undefined };
    if (whole > 0) this.#launch(views, walk, { ...layout, groups: widest }, 0, whole);
    if (whole < columns) this.#launch(views, walk, { ...layout, groups: 1 }, whole, columns - whole);
  }

  #launch(
    views: readonly BufferView[],
    { lines, length, operands }: RecurrenceLines,
    layout: Omit<Layout, "kinds">,
    first: number,
    columns: number,
  ): void {
    const { size, groups } = layout;
    const inWords = size / 4;
    const together = groups * 16 / size;
    const blocksPerRow = Math.ceil(columns / together);
    const blocks = sizeOf(lines.shape.slice(0, -1)) * blocksPerRow;
    const wanted = Math.max(1, Math.min(64, Math.floor(blocks * together * length / elementsPerTask)));
    const blocksPerTask = Math.ceil(blocks / wanted);
    const descriptor = this.#pool.describe(this.#descriptor, descriptorLength);
    const words = this.#memory.i32;
    const at = descriptor / 4;
    words[at + word.blocks] = blocks;
    words[at + word.blocksPerTask] = blocksPerTask;
    words[at + word.blocksPerRow] = blocksPerRow;
    words[at + word.columns] = columns;
    words[at + word.length] = length;
    words[at + word.rowAxes] = lines.shape.length - 1;
    const kinds = views.map((view, i) => {
      const stride = lines.strides[i].at(-1)!;
      const { step, imaginary } = operands[i];
      words.set([
        (addressOf(view) + first * stride * size) / 4,
        ...[stride * inWords, step * inWords, imaginary * inWords],
      ], at + word.operands + wordsPerOperand * i);
      return lanesOf(stride, columns % together === 0, i === 2);
    });
    writeAxes(words, at + axesAt, lines, [inWords, inWords, inWords], 1);
    const key = `${size} ${layout.complex} ${groups} ${kinds}`;
    let executable = this.#executables.get(key);
    if (!executable) {
      this.#executables.set(key, executable = new Executable(this.#memory, emit({ ...layout, kinds })));
    }
    this.#pool.run(executable, "recur", Math.ceil(blocks / blocksPerTask), descriptor);
  }
}

function emit({ size, complex, groups, kinds }: Layout): ModuleBuilder {
  const module = newModule();
  const { f, task, descriptor } = addTask(module, "recur");
  const type = size === 4 ? "f32x4" : "f64x2";
  const together = groups * 16 / size;
  const [add, subtract, multiply] = ["add", "sub", "mul"].map((name) => `${type}.${name}` as Opcode);
  const read = (at: number) => {
    const local = f.local("i32");
    f.set(local, () => f.load("i32.load", descriptor, 4 * at));
    return local;
  };
  const readDistance = (at: number) => {
    const local = f.local("address");
    f.set(local, () => f.loadDistance(descriptor, 4 * at));
    return local;
  };
  const [blocks, blocksPerTask, blocksPerRow] = [word.blocks, word.blocksPerTask, word.blocksPerRow].map(
    read,
  );
  const [columns, length, rowAxes] = [word.columns, word.length, word.rowAxes].map(read);
  const access = laneAccess(f, size, groups);
  const operands = kinds.map((kind, i) => {
    const at = word.operands + wordsPerOperand * i;
    return {
      kind,
      at,
      base: f.local("address"),
      stride: readDistance(at + 1),
      step: readDistance(at + 2),
      imaginary: readDistance(at + 3),
      pointers: access.pointers(kind),
      /** Bytes from the start of a line to the element at hand: to its real and its imaginary part. */
      places: f.locals("address", complex ? 2 : 1),
      /** The vectors of each part. */
      parts: Array.from({ length: complex ? 2 : 1 }, () => f.locals("v128", groups)),
    };
  });
  type Operand = typeof operands[number];
  const [a, b, x] = operands;
  const [block, blockEnd, row, column, last, left] = f.locals("i32", 6);

  const load = ({ kind, pointers, places, parts }: Operand) =>
    places.forEach((place, part) => access.load(kind, pointers, place, parts[part]));
  const advance = ({ places, step }: Operand) => places.forEach((place) => f.increment(place, step));
  const product = (p: Local, q: Local) => () => f.op(multiply, p, q);
  const finish = () => {
    b.parts.forEach((vectors, part) => access.store(x.kind, x.pointers, x.places[part], vectors));
    // What was b is the value before the next one.
    b.parts.forEach((vectors, part) => vectors.forEach((vector, i) => f.set(x.parts[part][i], vector)));
    advance(b);
    advance(x);
    f.increment(left, -1);
  };

  f.set(block, () => f.op("i32.mul", task, blocksPerTask));
  f.set(blockEnd, () => f.op("i32.add", block, blocksPerTask));
  f.set(blockEnd, () => f.smaller(blockEnd, blocks));
  f.set(last, columns);
  f.increment(last, -1);
  f.while(() => f.op("i32.lt_u", block, blockEnd), () => {
    f.set(row, () => f.op("i32.div_u", block, blocksPerRow));
    f.set(column, () => f.op("i32.sub", block, () => f.op("i32.mul", row, blocksPerRow)));
    f.set(column, () => f.op("i32.mul", column, together));
    for (const { base, at } of operands) f.set(base, () => f.loadAddress(descriptor, 4 * at));
    emitSeek(f, descriptor, 4 * axesAt, rowAxes, row, operands.map(({ base }) => base));
    for (const { pointers, base, stride, places, imaginary } of operands) {
      access.place(pointers, base, stride, column, last);
      f.set(places[0], 0);
      if (complex) f.set(places[1], imaginary);
    }
    f.set(left, length);
    load(b);
    finish();
    f.while(left, () => {
      load(a);
      load(b);
      for (let i = 0; i < groups; i++) {
        const [p, q, r] = operands.map(({ parts }) => parts.map((vectors) => vectors[i]));
        f.set(q[0], () => f.op(add, q[0], product(p[0], r[0])));
        if (!complex) continue;
        f.set(q[0], () => f.op(subtract, q[0], product(p[1], r[1])));
        f.set(q[1], () => f.op(add, q[1], product(p[0], r[1])));
        f.set(q[1], () => f.op(add, q[1], product(p[1], r[0])));
      }
      advance(a);
      finish();
    });
    f.increment(block, 1);
  });
  return module;
}
