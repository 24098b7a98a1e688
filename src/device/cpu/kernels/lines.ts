/**
 * Kernels that walk along an axis, such as recurrences and cumulative sums. Each step depends on the previous one, so the
 * lanes of a vector, and several vectors at a time, belong to different lines. Threads share the lines.
 */
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import type { RecurrenceLines } from "../../recurrence.ts";
import { sizeOf } from "../../shape.ts";
import { addressOf } from "../assembler/address.ts";
import { laneAccess, Lanes, lanesOf } from "../assembler/lane_access.ts";
import type { FunctionBuilder, Local, ModuleBuilder } from "../assembler/wasm.ts";
import { addTask } from "../runtime/executable.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import { descriptorWords, type Kernels, tasksFor } from "./kernels.ts";

/** Vectors that are processed together, if there are enough neighbouring lines. */
const widest = 4;

/**
 * Positions in the descriptor. The address of each operand and its distances between lines, elements, and
 * real and imaginary parts follow, then the axes of the rows of lines. All count 32-bit words.
 */
const word = { blocks: 0, blocksPerTask: 1, blocksPerRow: 2, columns: 3, length: 4, rowAxes: 5 };
const [operandsAt, wordsPerOperand] = [6, 4];

/** Elements of all lines per task. */
const elementsPerTask = 2 ** 14;

/** Compile-time properties of a kernel. */
export interface LineLayout {
  /** Bytes of an element. */
  readonly size: 4 | 8;
  /** Vectors that are processed together. */
  readonly groups: number;
  readonly kinds: readonly Lanes[];
}

/** Emits the code for a block of lines. */
export type LineBody = (block: LineBlock) => void;

/** A block of neighbouring lines: one per lane of the vectors. */
export interface LineBlock {
  readonly f: FunctionBuilder;
  readonly access: ReturnType<typeof laneAccess>;
  readonly layout: LineLayout;
  readonly operands: readonly LineOperand[];
  /** Elements of a line. */
  readonly length: Local;
}

/** An operand of a block. */
export interface LineOperand {
  readonly kind: Lanes;
  /** Bytes from one element of a line to the next. */
  readonly step: Local;
  readonly pointers: readonly Local[];
  /** Bytes from the start of a line to the current element: to its real part and to its imaginary part. */
  readonly places: readonly Local[];
}

/**
 * Runs a kernel along the lines of views.
 *
 * @param name Identifies the code, with the element size and the layout.
 * @param views Operands. The size of their elements is that of the first, except for a result with one element per line.
 * @param parts 2 for complex numbers, else 1.
 * @param emit Prepares a kernel and returns the emitter of its blocks.
 */
export function runOnLines(
  kernels: Kernels,
  name: string,
  views: readonly BufferView[],
  walk: RecurrenceLines,
  parts: 1 | 2,
  emit: (layout: LineLayout, f: FunctionBuilder) => LineBody,
): void {
  const columns = walk.lines.shape.at(-1)!;
  const size = bytesPerElement(views[0].dtype) as 4 | 8;
  // Full vectors of neighbouring lines, then the rest of each row.
  const whole = columns - columns % (widest * 16 / size);
  const run = (groups: number, first: number, count: number) => {
    if (count === 0) return;
    const { description, kinds, tasks } = describe(views, walk, { size, groups }, first, count);
    const layout = { size, groups, kinds };
    const key = `${name} ${size} ${parts} ${groups} ${kinds}`;
    kernels.run(key, (module) => emitLines(module, layout, parts, emit), "lines", tasks, description);
  };
  run(widest, 0, whole);
  run(1, whole, columns - whole);
}

/** The description of a kernel for columns of every row of lines. The last view is the result. */
function describe(
  views: readonly BufferView[],
  { lines, length, operands }: RecurrenceLines,
  { size, groups }: Omit<LineLayout, "kinds">,
  first: number,
  columns: number,
) {
  const linesPerBlock = groups * 16 / size;
  const blocksPerRow = Math.ceil(columns / linesPerBlock);
  const blocks = sizeOf(lines.shape.slice(0, -1)) * blocksPerRow;
  const blocksPerTask = Math.ceil(blocks / tasksFor(blocks * linesPerBlock * length, elementsPerTask));
  const rowAxes = lines.shape.length - 1;
  const description = descriptorWords(word, {
    blocks,
    blocksPerTask,
    blocksPerRow,
    columns,
    length,
    rowAxes,
  });
  const wordsPerElement = views.map(({ dtype }) => bytesPerElement(dtype) / 4);
  const kinds = views.map((view, i) => {
    const stride = lines.strides[i].at(-1)!;
    const { step, imaginary } = operands[i];
    const words = wordsPerElement[i];
    description.push(
      addressOf(view) / 4 + first * stride * words,
      stride * words,
      step * words,
      imaginary * words,
    );
    // Elements of another size have another number of lanes per vector.
    if (words !== size / 4) return Lanes.apart;
    return lanesOf(stride, columns % linesPerBlock === 0, i === views.length - 1);
  });
  writeAxes(description, operandsAt + views.length * wordsPerOperand, lines, wordsPerElement, 1);
  return { description, kinds, tasks: Math.ceil(blocks / blocksPerTask) };
}

/** Emits the loop over blocks of lines. */
function emitLines(
  module: ModuleBuilder,
  layout: LineLayout,
  parts: 1 | 2,
  emit: (layout: LineLayout, f: FunctionBuilder) => LineBody,
): void {
  const { size, groups, kinds } = layout;
  const { f, task, descriptor, word: read, distance } = addTask(module, "lines");
  const linesPerBlock = groups * 16 / size;
  const axesAt = operandsAt + kinds.length * wordsPerOperand;
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
      places: f.locals("address", parts),
    };
  });
  const [block, blockEnd, row, column, last] = f.locals("i32", 5);
  const body = emit(layout, f);

  f.set(block, () => f.op("i32.mul", task, blocksPerTask));
  f.set(blockEnd, () => f.op("i32.add", block, blocksPerTask));
  f.set(blockEnd, () => f.smaller(blockEnd, blocks));
  f.set(last, columns);
  f.increment(last, -1);
  f.while(() => f.op("i32.lt_u", block, blockEnd), () => {
    f.set(row, () => f.op("i32.div_u", block, blocksPerRow));
    f.set(column, () => f.op("i32.sub", block, () => f.op("i32.mul", row, blocksPerRow)));
    f.set(column, () => f.op("i32.mul", column, linesPerBlock));
    for (const { base, at } of operands) f.set(base, () => f.loadAddress(descriptor, 4 * at));
    emitSeek(f, descriptor, 4 * axesAt, rowAxes, row, operands.map(({ base }) => base));
    for (const { pointers, base, stride, places, imaginary } of operands) {
      access.place(pointers, base, stride, column, last);
      f.set(places[0], 0);
      if (parts === 2) f.set(places[1], imaginary);
    }
    body({ f, access, layout, operands, length });
    f.increment(block, 1);
  });
}
