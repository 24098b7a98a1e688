/**
 * Reductions. There are two kernels per reduction and type: one processes the elements of a result in order,
 * with partial results in the lanes; the other processes adjacent results in the lanes, if their elements are
 * adjacent too. Sums of float32 are accumulated in float64.
 *
 * The order of summation depends only on shapes and strides, not on the number of threads.
 */
import { collapse, type Walk } from "../../collapse.ts";
import type { BufferView, Reduction } from "../../device.ts";
import { bytesPerElement, type DType } from "../../dtype.ts";
import { contiguousStrides, sizeOf } from "../../shape.ts";
import { addressOf } from "../assembler/address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import { addTask } from "../runtime/executable.ts";
import { descriptorWords, type Kernels, tasksFor } from "./kernels.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";

/** Memory layout of a kernel: elements of a result are adjacent, strided, or results are adjacent. */
type Mode = "rows" | "strided" | "columns";

/**
 * Positions in the descriptor. The remaining and the reduced axes follow. Addresses and strides count 32-bit
 * words.
 */
const word = {
  input: 0,
  output: 1,
  /** Positions on the remaining axes, without the innermost axis if results are adjacent. */
  rows: 2,
  rowsPerTask: 3,
  remainingAxes: 4,
  columns: 5,
  columnsPerTask: 6,
  columnTasks: 7,
  /** Distance between adjacent results in the output. */
  columnStride: 8,
  /** The innermost reduced axis. */
  count: 9,
  stride: 10,
  /** Positions on the other reduced axes. */
  outer: 11,
  reducedAxes: 12,
  /** Distance from the start of the descriptor to the list of reduced axes. */
  reducedList: 13,
};
const axesAt = 14;

/** Elements per task. */
const elementsPerTask = 2 ** 18;
/** Adjacent results per block: a multiple of the widest tile. */
const columnsPerBlock = 32;

/** A reduction with its axes: strides of the input, and for remaining axes of the output too. */
interface ReductionJob {
  readonly reduction: Reduction;
  readonly dtype: DType;
  readonly input: number;
  readonly output: number;
  readonly remaining: Walk;
  readonly reduced: Walk;
}

/** Reduces the axes that have length one in `output`. */
export function reduce(
  kernels: Kernels,
  reduction: Reduction,
  input: BufferView,
  output: BufferView,
): void {
  if (sizeOf(output.shape) === 0) return;
  const { shape, strides, dtype } = input;
  const remainingAxes: number[] = [];
  const reducedAxes: number[] = [];
  for (let axis = 0; axis < shape.length; axis++) {
    (shape[axis] === output.shape[axis] ? remainingAxes : reducedAxes).push(axis);
  }
  // The order of summation is free: large strides become the outermost.
  reducedAxes.sort((a, b) => Math.abs(strides[b]) - Math.abs(strides[a]));
  const pick = (from: readonly number[], axes: readonly number[]) => axes.map((axis) => from[axis]);
  reduceInParts(kernels, {
    reduction,
    dtype,
    input: addressOf(input),
    output: addressOf(output),
    remaining: collapse(pick(shape, remainingAxes), [
      pick(strides, remainingAxes),
      pick(output.strides, remainingAxes),
    ]),
    reduced: collapse(pick(shape, reducedAxes), [pick(strides, reducedAxes)]),
  });
}

/** If there are few results with many elements, reduces parts first, so that threads can share the work. */
function reduceInParts(kernels: Kernels, job: ReductionJob): void {
  const [results, elements] = [sizeOf(job.remaining.shape), sizeOf(job.reduced.shape)];
  const parts = tasksFor(results * elements, elementsPerTask);
  const [length] = job.reduced.shape;
  if (parts < 2 || results >= 8 * columnsPerBlock || length < 2) return launch(kernels, job);
  const partLength = Math.ceil(length / parts);
  const whole = Math.floor(length / partLength);
  const rest = length - whole * partLength;
  const size = bytesPerElement(job.dtype);
  const partial = kernels.memory.allocate((whole + 1) * results * size);
  const [stride] = job.reduced.strides[0];
  const flat = contiguousStrides(job.remaining.shape);
  const part = (first: number, count: number, length: number): ReductionJob => ({
    ...job,
    input: job.input + first * stride * size,
    output: partial.address + first / partLength * results * size,
    remaining: {
      shape: [count, ...job.remaining.shape],
      strides: [[partLength * stride, ...job.remaining.strides[0]], [results, ...flat]],
    },
    reduced: { ...job.reduced, shape: [length, ...job.reduced.shape.slice(1)] },
  });
  launch(kernels, part(0, whole, partLength));
  if (rest > 0) launch(kernels, part(whole * partLength, 1, rest));
  launch(kernels, {
    ...job,
    input: partial.address,
    remaining: { shape: job.remaining.shape, strides: [flat, job.remaining.strides[1]] },
    reduced: { shape: [rest > 0 ? whole + 1 : whole], strides: [[results]] },
  });
  kernels.memory.release(partial);
}

function launch(
  kernels: Kernels,
  { reduction, dtype, input, output, remaining, reduced }: ReductionJob,
): void {
  const inWords = bytesPerElement(dtype) / 4;
  const lastRemaining = remaining.shape.length - 1;
  const lastReduced = reduced.shape.length - 1;
  const sideBySide = remaining.strides[0][lastRemaining] === 1 && remaining.shape[lastRemaining] > 1;
  const inOrder = reduced.strides[0][lastReduced] === 1;
  const mode = inOrder && (reduced.shape[lastReduced] > 1 || !sideBySide)
    ? "rows"
    : sideBySide
    ? "columns"
    : "strided";
  const columns = mode === "columns" ? remaining.shape[lastRemaining] : 1;
  const rows = sizeOf(remaining.shape) / columns;
  const elements = sizeOf(reduced.shape);
  const wanted = tasksFor(rows * columns * elements, elementsPerTask);
  const blocks = Math.ceil(columns / columnsPerBlock);
  const rowsPerTask = Math.ceil(rows / wanted);
  const columnsPerTask = columnsPerBlock * Math.ceil(blocks / Math.max(1, Math.floor(wanted / rows)));
  const columnTasks = Math.ceil(columns / columnsPerTask);
  const axes: number[] = [];
  const reducedAt = writeAxes(axes, 0, remaining, [inWords, inWords], mode === "columns" ? 1 : 0);
  writeAxes(axes, reducedAt, reduced, [inWords], 1);
  const description = descriptorWords(word, {
    input: input / 4,
    output: output / 4,
    rows,
    rowsPerTask,
    remainingAxes: mode === "columns" ? lastRemaining : lastRemaining + 1,
    columns,
    columnsPerTask,
    columnTasks,
    columnStride: remaining.strides[1][lastRemaining] * inWords,
    count: reduced.shape[lastReduced],
    stride: reduced.strides[0][lastReduced] * inWords,
    outer: elements === 0 ? 0 : elements / reduced.shape[lastReduced],
    reducedAxes: lastReduced,
    reducedList: axesAt + reducedAt,
  });
  const key = `${reduction} ${dtype} ${mode}`;
  const tasks = Math.ceil(rows / rowsPerTask) * columnTasks;
  kernels.run(key, (module) => emitReduce(module, reduction, dtype, mode), "reduce", tasks, [
    ...description,
    ...axes,
  ]);
}

/** Parts of a kernel that depend on the reduction and the type. */
interface Arithmetic {
  /** Elements per vector of partial results, and bytes of an element in memory. */
  readonly lanes: 2 | 4;
  readonly size: 4 | 8;
  readonly combine: Opcode;
  /** Pushes the neutral element. */
  initial(): void;
  /** Pushes a vector of elements. */
  load(address: Local, offset: number): void;
  /** Pushes a vector with one element, whose other lanes do not change partial results. */
  loadOne(address: Local): void;
  /** Stores a lane of a vector of results. */
  store(lane: number, address: Local, vector: Local): void;
}

function arithmetic(f: FunctionBuilder, reduction: Reduction, dtype: DType): Arithmetic {
  const isSum = reduction === "sum";
  // The other lanes are zero for a sum, and repeat the element for a maximum or minimum.
  const one = isSum ? "zero" : "splat";
  if (dtype === "float32" && isSum) {
    return {
      lanes: 2,
      size: 4,
      combine: "f64x2.add",
      initial: () => f.f64x2(0),
      load: (address, offset) =>
        f.op("f64x2.promote_low_f32x4", () => f.load("v128.load64_zero", address, offset)),
      loadOne: (address) => f.op("f64x2.promote_low_f32x4", () => f.load("v128.load32_zero", address)),
      store(lane, address, vector) {
        const rounded = () => f.op("f32x4.demote_f64x2_zero", vector);
        f.laneMemory("v128.store32_lane", lane, address, rounded);
      },
    };
  }
  const is64 = dtype === "float64";
  const extreme = reduction === "max" ? -Infinity : Infinity;
  const limits = { int32: { max: -0x80000000, min: 0x7fffffff }, uint32: { max: 0, min: -1 } };
  const suffix = dtype === "int32" ? "_s" : dtype === "uint32" ? "_u" : "";
  const vector = is64 ? "f64x2" : dtype === "float32" ? "f32x4" : "i32x4";
  return {
    lanes: is64 ? 2 : 4,
    size: is64 ? 8 : 4,
    combine: (isSum ? `${vector}.add` : `${vector}.${reduction}${suffix}`) as Opcode,
    initial() {
      if (is64) f.f64x2(isSum ? 0 : extreme);
      else if (dtype === "float32") f.f32x4(extreme);
      else f.i32x4(isSum ? 0 : limits[dtype as "int32" | "uint32"][reduction]);
    },
    load: (address, offset) => f.load("v128.load", address, offset),
    loadOne: (address) => f.load(`v128.load${is64 ? 64 : 32}_${one}`, address),
    store: (lane, address, vector) => f.laneMemory(`v128.store${is64 ? 64 : 32}_lane`, lane, address, vector),
  };
}

function emitReduce(module: ModuleBuilder, reduction: Reduction, dtype: DType, mode: Mode): void {
  const start = addTask(module, "reduce");
  const { f, task, descriptor } = start;
  const type = arithmetic(f, reduction, dtype);
  const read = (...names: readonly (keyof typeof word)[]) => names.map((name) => start.word(word[name]));
  const [remainingAxes, reducedAxes, count, outer] = read("remainingAxes", "reducedAxes", "count", "outer");
  const [rows, rowsPerTask] = read("rows", "rowsPerTask");
  const [columns, columnsPerTask, columnTasks] = read("columns", "columnsPerTask", "columnTasks");
  const [row, rowEnd, column, remaining, position, left] = f.locals("i32", 6);
  const [input, output, pointer] = f.locals("address", 3);
  const [stride, columnStride] = [word.stride, word.columnStride].map(start.distance);
  const reducedList = start.distance(word.reducedList);
  f.increment(reducedList, descriptor);
  const sums = f.locals("v128", 8);

  f.set(row, () => f.op("i32.mul", () => f.op("i32.div_u", task, columnTasks), rowsPerTask));
  f.set(rowEnd, () => f.op("i32.add", row, rowsPerTask));
  f.set(rowEnd, () => f.smaller(rowEnd, rows));
  f.set(column, () => f.op("i32.mul", () => f.op("i32.rem_u", task, columnTasks), columnsPerTask));

  /** Runs `body` with `pointer` at the start of each run of elements along the innermost reduced axis. */
  const forStretches = (body: () => void) => {
    f.set(position, 0);
    f.while(() => f.op("i32.lt_u", position, outer), () => {
      f.set(pointer, input);
      emitSeek(f, reducedList, 0, reducedAxes, position, [pointer]);
      f.set(left, count);
      body();
      f.increment(position, 1);
    });
  };
  const add = (sum: Local, element: () => void) => f.set(sum, () => f.op(type.combine, sum, element));
  /** Combines partial results in a fixed order into the first. */
  const fold = (parts: readonly Local[]) => {
    for (let half = parts.length / 2; half >= 1; half /= 2) {
      for (let i = 0; i < half; i++) add(parts[i], () => f.get(parts[i + half]));
    }
  };

  const reduceRow = () => {
    const parts = sums.slice(0, mode === "rows" ? 8 : 4);
    for (const part of parts) f.set(part, () => type.initial());
    forStretches(() => {
      const single = () => {
        add(parts[0], () => type.loadOne(pointer));
        f.increment(pointer, stride);
        f.increment(left, -1);
      };
      if (mode === "rows") {
        const length = parts.length * type.lanes;
        f.while(() => f.op("i32.ge_s", left, length), () => {
          parts.forEach((part, i) => add(part, () => type.load(pointer, i * type.lanes * type.size)));
          f.increment(pointer, length * type.size);
          f.increment(left, -length);
        });
        f.while(() => f.op("i32.ge_s", left, type.lanes), () => {
          add(parts[0], () => type.load(pointer, 0));
          f.increment(pointer, type.lanes * type.size);
          f.increment(left, -type.lanes);
        });
      } else {
        f.while(() => f.op("i32.ge_s", left, parts.length), () => {
          for (const part of parts) {
            add(part, () => type.loadOne(pointer));
            f.increment(pointer, stride);
          }
          f.increment(left, -parts.length);
        });
      }
      f.while(() => f.op("i32.gt_s", left, 0), single);
    });
    fold(parts);
    if (type.lanes === 4) add(parts[0], () => f.shuffle64([1, 1], parts[0], parts[0]));
    const second = type.lanes === 4 ? [1, 1, 1, 1] as const : [2, 3, 2, 3] as const;
    add(parts[0], () => f.shuffle32(second, parts[0], parts[0]));
    type.store(0, output, parts[0]);
  };

  const reduceColumns = () => {
    f.increment(input, () => f.op("address.mul", column, type.size));
    f.increment(output, () => f.op("address.mul", column, columnStride));
    f.set(remaining, () => f.op("i32.sub", columns, column));
    f.set(remaining, () => f.smaller(remaining, columnsPerTask));
    for (const vectors of [8, 2, 1]) {
      const width = vectors * type.lanes;
      const least = vectors === 1 ? 1 : width;
      const tile = sums.slice(0, vectors);
      f.while(() => f.op("i32.ge_s", remaining, least), () => {
        for (const sum of tile) f.set(sum, () => type.initial());
        forStretches(() =>
          f.while(left, () => {
            tile.forEach((sum, i) => add(sum, () => type.load(pointer, i * type.lanes * type.size)));
            f.increment(pointer, stride);
            f.increment(left, -1);
          })
        );
        for (let i = 0; i < width; i++) {
          const store = () => {
            type.store(i % type.lanes, output, tile[Math.floor(i / type.lanes)]);
            f.increment(output, columnStride);
          };
          if (i < least) store();
          else f.if(() => f.op("i32.gt_s", remaining, i), store);
        }
        f.increment(input, width * type.size);
        f.increment(remaining, -width);
      });
    }
  };

  f.while(() => f.op("i32.lt_u", row, rowEnd), () => {
    f.set(input, () => f.loadAddress(descriptor, 4 * word.input));
    f.set(output, () => f.loadAddress(descriptor, 4 * word.output));
    emitSeek(f, descriptor, 4 * axesAt, remainingAxes, row, [input, output]);
    if (mode === "columns") reduceColumns();
    else reduceRow();
    f.increment(row, 1);
  });
}
