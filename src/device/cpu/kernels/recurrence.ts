/**
 * Linear recurrences. One line is a chain of products and sums, so the lanes of a vector, and several vectors at a time, hold
 * different lines; threads share the lines.
 */
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { type RecurrenceAxes, type RecurrenceLines, recurrenceLines } from "../../recurrence.ts";
import { sizeOf } from "../../shape.ts";
import { addressOf } from "../assembler/address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import { addTask, newModule } from "../runtime/executable.ts";
import { descriptionWords, type Kernels, tasksFor } from "./kernels.ts";
import { laneAccess, type Lanes, lanesOf } from "../assembler/lane_access.ts";
import type { Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";

/** Vectors of lines that go together where there are enough neighbouring ones. */
const widest = 4;

/**
 * Words of the description: these, then of each operand its address, and in words the distances from line to line, from element
 * to element and from real to imaginary parts, then the axes of the rows of lines.
 */
const word = { blocks: 0, blocksPerTask: 1, blocksPerRow: 2, columns: 3, length: 4, rowAxes: 5 };
const [operandsAt, wordsPerOperand] = [6, 4];
const axesAt = operandsAt + 3 * wordsPerOperand;

/** Elements of all lines worth a task of their own. */
const elementsPerTask = 2 ** 14;

/** Properties of a kernel. */
interface Layout {
  readonly size: 4 | 8;
  readonly complex: boolean;
  /** Vectors of lines that go together. */
  readonly groups: number;
  readonly kinds: readonly Lanes[];
}

/**
 * See `Device.linearRecurrence`.
 *
 * @param views a, b and output.
 */
export function linearRecurrence(kernels: Kernels, views: readonly BufferView[], axes: RecurrenceAxes): void {
  const output = views[2];
  if (sizeOf(output.shape) === 0) return;
  const walk = recurrenceLines(views, axes);
  const columns = walk.lines.shape.at(-1)!;
  const size = bytesPerElement(output.dtype) as 4 | 8;
  // Full vectors of neighbouring lines, then the rest of each row line by line.
  const whole = columns - columns % (widest * 16 / size);
  const layout = { size, complex: axes.parts !== undefined };
  if (whole > 0) launch(kernels, views, walk, { ...layout, groups: widest }, 0, whole);
  if (whole < columns) launch(kernels, views, walk, { ...layout, groups: 1 }, whole, columns - whole);
}

function launch(
  kernels: Kernels,
  views: readonly BufferView[],
  { lines, length, operands }: RecurrenceLines,
  layout: Omit<Layout, "kinds">,
  first: number,
  columns: number,
): void {
  const { size, complex, groups } = layout;
  const inWords = size / 4;
  const together = groups * 16 / size;
  const blocksPerRow = Math.ceil(columns / together);
  const blocks = sizeOf(lines.shape.slice(0, -1)) * blocksPerRow;
  const blocksPerTask = Math.ceil(blocks / tasksFor(blocks * together * length, elementsPerTask));
  const rowAxes = lines.shape.length - 1;
  const description = descriptionWords(word, {
    blocks,
    blocksPerTask,
    blocksPerRow,
    columns,
    length,
    rowAxes,
  });
  const kinds = views.map((view, i) => {
    const stride = lines.strides[i].at(-1)!;
    const { step, imaginary } = operands[i];
    description.push(
      (addressOf(view) + first * stride * size) / 4,
      ...[stride * inWords, step * inWords, imaginary * inWords],
    );
    return lanesOf(stride, columns % together === 0, i === 2);
  });
  writeAxes(description, axesAt, lines, [inWords, inWords, inWords], 1);
  const key = `recurrence ${size} ${complex} ${groups} ${kinds}`;
  kernels.run(key, () => emit({ ...layout, kinds }), "recur", Math.ceil(blocks / blocksPerTask), description);
}

function emit({ size, complex, groups, kinds }: Layout): ModuleBuilder {
  const module = newModule();
  const { f, task, descriptor, word: read, distance } = addTask(module, "recur");
  const type = size === 4 ? "f32x4" : "f64x2";
  const together = groups * 16 / size;
  const [add, subtract, multiply] = ["add", "sub", "mul"].map((name) => `${type}.${name}` as Opcode);
  const [blocks, blocksPerTask, blocksPerRow] = [word.blocks, word.blocksPerTask, word.blocksPerRow].map(
    read,
  );
  const [columns, length, rowAxes] = [word.columns, word.length, word.rowAxes].map(read);
  const access = laneAccess(f, size, groups);
  const operands = kinds.map((kind, i) => {
    const at = operandsAt + wordsPerOperand * i;
    return {
      kind,
      at,
      base: f.local("address"),
      stride: distance(at + 1),
      step: distance(at + 2),
      imaginary: distance(at + 3),
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
    // The value at hand is the one before the next.
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
