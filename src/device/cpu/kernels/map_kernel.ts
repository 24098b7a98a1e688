/** Code of an elementwise kernel. */
import { bytesPerElement, type DType } from "../../dtype.ts";
import type { Scalar } from "../../scalar/scalar.ts";
import { emitSeek } from "./axes.ts";
import { addTask } from "../runtime/executable.ts";
import { ScalarEmitter } from "../assembler/scalar_wasm.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";

/** Spacing of the elements of an operand along the innermost axis. */
export const enum Spacing {
  /** Elements are adjacent. */
  contiguous = 0,
  /** One element for the entire axis. */
  repeated = 1,
  /** Elements have an arbitrary constant distance. */
  strided = 2,
  /** A number without memory. */
  number = 3,
}

/**
 * Positions in the descriptor: this header; four words per operand (address, stride of the innermost axis,
 * and a number's value); and the outer axes. The operands are the output, the inputs and, if the function
 * reads it, the index, which counts elements instead of words.
 */
export const word = {
  count: 0,
  rows: 1,
  axes: 2,
  rowsPerTask: 3,
  countPerTask: 4,
  tasksPerRow: 5,
  header: 8,
} as const;

/** Compile-time properties of an operand. */
interface MappedOperand {
  readonly spacing: Spacing;
  readonly dtype: DType | "index";
  /** Position of the operand's words in the descriptor, in bytes. */
  readonly offset: number;
  readonly pointer: Local;
  readonly stride: Local;
  /**
   * The current vector: a repeated element or a number in all lanes, the elements of a strided operand, or the index of each lane.
   * Not used for contiguous operands.
   */
  readonly vector: Local;
}

const isMoving = ({ spacing }: MappedOperand) => spacing !== Spacing.number;
const bytesOf = ({ dtype }: MappedOperand) => dtype === "index" ? 1 : bytesPerElement(dtype);

/**
 * Generates the function `map(task, descriptor)`.
 *
 * @param usesIndex Whether the function reads the position of an element.
 * @param types Types of the output and the inputs, in the order of `spacings`.
 */
export function emitMap(
  module: ModuleBuilder,
  root: Scalar,
  usesIndex: boolean,
  types: readonly DType[],
  spacings: readonly Spacing[],
): void {
  const { f, task, descriptor } = addTask(module, "map");
  const operands = [...types, ...(usesIndex ? ["index" as const] : [])].map((dtype, i): MappedOperand => ({
    spacing: dtype === "index" ? Spacing.strided : spacings[i],
    dtype,
    offset: 4 * (word.header + 4 * i),
    pointer: f.local(dtype === "index" ? "i32" : "address"),
    stride: f.local(dtype === "index" ? "i32" : "address"),
    vector: f.local("v128"),
  }));
  const [output, ...rest] = operands;
  const index = usesIndex ? rest.pop() : undefined;
  const inputs = rest;
  const numbers = new Set(inputs.flatMap(({ spacing }, i) => spacing === Spacing.number ? [i] : []));
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
    if (operand.spacing === Spacing.contiguous) f.set(operand.stride, bytesOf(operand));
    else if (isMoving(operand)) {
      f.set(
        operand.stride,
        () =>
          operand === index
            ? f.load("i32.load", descriptor, operand.offset + 4)
            : f.loadDistance(descriptor, operand.offset + 4),
      );
    } else f.set(operand.vector, () => f.load(splatOf(operand), descriptor, operand.offset + 8));
  }
  scalar.emitConstants();
  scalar.emitUniform({ input: (position) => f.get(inputs[position].vector), index() {} });

  const moving = operands.filter(isMoving);
  const axes = f.local("i32");
  f.set(axes, read("axes"));
  const remaining = f.local("i32");
  /** Vectors per iteration: several for short expressions, where loop overhead matters. */
  const together = scalar.operations <= 8 ? 4 : scalar.mixesWidths ? 1 : module.vectorsPerRegister;
  const results = f.locals("v128", together);
  const offsetOf = (operand: MappedOperand, at: number) => at * lanes * bytesOf(operand);
  /** Computes the result `at` vectors after the current one. */
  const setResult = (at: number) => {
    scalar.emit({
      input: (position) => pushInput(f, inputs[position], lanes, offsetOf(inputs[position], at)),
      index: () => f.get(index!.vector),
    });
    if (output.dtype === "bool") f.op("i32x4.neg"); // A mask becomes words of 0 and 1.
    f.set(results[at]);
    if (index) advanceIndex(f, index, lanes);
  };
  const advance = (vectors: number) => {
    for (const operand of [output, ...inputs]) {
      if (operand.spacing === Spacing.contiguous) {
        f.increment(operand.pointer, vectors * lanes * bytesOf(operand));
      }
    }
    f.increment(remaining, -vectors * lanes);
  };

  const list = 4 * (word.header + 4 * operands.length);
  const rowStarts = moving.map(({ pointer }) => f.local(pointer.type));
  /** Rows until the end of the second innermost axis. Zero at first, which makes the kernel seek. */
  const rowsLeft = f.local("i32");
  const seek = () => {
    moving.forEach((operand, i) => {
      const { stride, offset } = operand;
      const isIndex = operand === index;
      f.set(
        rowStarts[i],
        () => isIndex ? f.load("i32.load", descriptor, offset) : f.loadAddress(descriptor, offset),
      );
      f.increment(rowStarts[i], () => f.op(isIndex ? "i32.mul" : "address.mul", start, stride));
    });
    emitSeek(f, descriptor, list, axes, row, rowStarts);
    f.set(rowsLeft, -1);
    f.if(() => f.op("i32.gt_u", axes, 1), () => {
      const length = () => f.load("i32.load", descriptor, list);
      f.set(rowsLeft, () => f.op("i32.sub", length, () => f.op("i32.rem_u", row, length)));
    });
  };
  const nextRow = () =>
    rowStarts.forEach((start, i) => {
      const at = list + 4 * (1 + i);
      f.increment(
        start,
        () => start.type === "i32" ? f.load("i32.load", descriptor, at) : f.loadDistance(descriptor, at),
      );
    });

  f.while(() => f.op("i32.lt_u", row, rowEnd), () => {
    f.if(() => f.op("i32.eqz", rowsLeft), seek, nextRow);
    f.increment(rowsLeft, -1);
    moving.forEach(({ pointer }, i) => f.set(pointer, rowStarts[i]));
    for (const input of inputs) {
      if (input.spacing === Spacing.repeated) {
        f.set(input.vector, () => f.load(splatOf(input), input.pointer));
      }
    }
    if (index) {
      f.i32x4(0, 1, 2, 3);
      f.op("i32x4.mul", () => f.op("i32x4.splat", index.stride));
      f.set(index.vector, () => f.op("i32x4.add", () => f.op("i32x4.splat", index.pointer)));
    }
    f.set(remaining, count);
    const isSimple = [output, ...inputs].every(({ spacing }) => spacing !== Spacing.strided);
    if (isSimple && together > 1) {
      f.while(() => f.op("i32.ge_s", remaining, together * lanes), () => {
        // Results are computed before the first store, so that V8 can combine them.
        results.forEach((_, at) => setResult(at));
        results.forEach((result, at) => storeAll(f, output, lanes, result, offsetOf(output, at)));
        advance(together);
      });
    }
    f.while(() => f.op("i32.gt_s", remaining, 0), () => {
      for (const input of inputs) {
        if (input.spacing === Spacing.strided) gatherLanes(f, input, lanes, remaining);
      }
      setResult(0);
      if (output.spacing === Spacing.strided) storeLanes(f, output, lanes, results[0], remaining);
      else {
        f.if(
          () => f.op("i32.ge_s", remaining, lanes),
          () => storeAll(f, output, lanes, results[0], 0),
          () => storeLanes(f, output, lanes, results[0], remaining),
        );
      }
      advance(1);
    });
    f.increment(row, 1);
  });
}

function splatOf(operand: MappedOperand): Opcode {
  return bytesOf(operand) === 8 ? "v128.load64_splat" : "v128.load32_splat";
}

/** Pushes lanes of an input. Lanes of strided inputs are in `vector` already. */
function pushInput(f: FunctionBuilder, input: MappedOperand, lanes: 2 | 4, offset: number): void {
  if (input.spacing !== Spacing.contiguous) return f.get(input.vector);
  // The last vector of a row may read past its end. Those lanes are not stored.
  f.load(bytesOf(input) === 4 && lanes === 2 ? "v128.load64_zero" : "v128.load", input.pointer, offset);
}

/** Advances a strided operand by one element, unless its row ends before this lane. */
function stepLane(
  f: FunctionBuilder,
  { pointer, stride }: MappedOperand,
  lane: number,
  remaining: Local,
): void {
  f.increment(
    pointer,
    () => f.op("select", stride, () => f.address(0), () => f.op("i32.gt_s", remaining, lane)),
  );
}

function gatherLanes(f: FunctionBuilder, input: MappedOperand, lanes: 2 | 4, remaining: Local): void {
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

function storeAll(
  f: FunctionBuilder,
  output: MappedOperand,
  lanes: 2 | 4,
  result: Local,
  offset: number,
): void {
  if (bytesOf(output) === 4 && lanes === 2) {
    f.laneMemory("v128.store64_lane", 0, output.pointer, result, offset);
  } else f.store("v128.store", output.pointer, result, offset);
}

/** Stores the remaining lanes. Advances a strided output; the caller advances a contiguous one. */
function storeLanes(
  f: FunctionBuilder,
  output: MappedOperand,
  lanes: 2 | 4,
  result: Local,
  remaining: Local,
): void {
  const bytes = bytesOf(output);
  const strided = output.spacing === Spacing.strided;
  const name = `v128.store${8 * bytes}_lane` as Opcode;
  for (let lane = 0; lane < lanes; lane++) {
    const store = () => f.laneMemory(name, lane, output.pointer, result, strided ? 0 : lane * bytes);
    if (lane === 0) store();
    else f.if(() => f.op("i32.gt_s", remaining, lane), store);
    if (strided) f.increment(output.pointer, output.stride);
  }
}

function advanceIndex(f: FunctionBuilder, { vector, stride }: MappedOperand, lanes: 2 | 4): void {
  f.set(
    vector,
    () => f.op("i32x4.add", vector, () => f.op("i32x4.splat", () => f.op("i32.mul", stride, lanes))),
  );
}
