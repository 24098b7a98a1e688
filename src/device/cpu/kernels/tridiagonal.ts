/**
 * Tridiagonal systems by Thomas' algorithm: elimination from the first equation to the last, then back
 * substitution. A system is a chain of divisions, so the lanes of a vector, and two vectors at a time, belong
 * to different systems. Skipped equations are computed too, and their results are discarded.
 */
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { addressOf } from "../assembler/address.ts";
import { addTask } from "../runtime/executable.ts";
import { descriptorWords, type Kernels, tasksFor } from "./kernels.ts";
import { laneAccess, type Lanes, lanesOf } from "../assembler/lane_access.ts";
import type { Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";

/** Vectors of systems that are solved together. */
const groups = 2;

/** An equation after elimination: for each vector, whether it is skipped, a coefficient and a right-hand side. */
const storedBytes = 3 * 16 * groups;

/** Positions in the descriptor. Address and strides of each operand follow. All count 32-bit words. */
const word = { systems: 0, n: 1, systemsPerTask: 2, scratch: 3, scratchPerTask: 4 };
const [operandsAt, wordsPerOperand] = [5, 3];

/** Elements of all systems per task. */
const elementsPerTask = 2 ** 14;

/**
 * See `DeviceKernels.tridiagonal`.
 *
 * @param views lower, diagonal, upper, rhs and output.
 */
export function tridiagonal(kernels: Kernels, views: readonly BufferView[]): void {
  const [systems, n] = views[3].shape;
  if (systems * n === 0) return;
  const together = groups * 16 / bytesPerElement(views[4].dtype);
  // Vectors of adjacent systems must be full. The remaining systems use single lanes.
  const whole = systems - systems % together;
  if (whole > 0) launch(kernels, views, 0, whole, true);
  if (whole < systems) launch(kernels, views, whole, systems - whole, false);
}

function launch(
  kernels: Kernels,
  views: readonly BufferView[],
  first: number,
  systems: number,
  full: boolean,
): void {
  const { dtype, shape: [, n] } = views[4];
  const size = bytesPerElement(dtype);
  const together = groups * 16 / size;
  const systemsPerTask = together *
    Math.ceil(systems / (tasksFor(systems * n, elementsPerTask) * together));
  const tasks = Math.ceil(systems / systemsPerTask);
  const scratch = kernels.memory.allocate(tasks * n * storedBytes);
  const description = descriptorWords(word, {
    systems,
    n,
    systemsPerTask,
    scratch: scratch.address / 4,
    scratchPerTask: n * storedBytes / 4,
  });
  const kinds = views.map((view, i) => {
    const stride = view.shape[0] === 1 ? 0 : view.strides[0];
    const inWords = size / 4;
    const start = addressOf(view) + first * stride * size;
    description.push(start / 4, stride * inWords, view.strides[1] * inWords);
    return lanesOf(stride, full, i === 4);
  });
  const key = `tridiagonal ${size} ${kinds}`;
  kernels.run(key, (module) => emitSolve(module, size, kinds), "solve", tasks, description);
  kernels.memory.release(scratch);
}

function emitSolve(module: ModuleBuilder, size: 4 | 8, kinds: readonly Lanes[]): void {
  const { f, task, word: read, address, distance } = addTask(module, "solve");
  const lanes = 16 / size;
  const type = size === 4 ? "f32x4" : "f64x2";
  const [subtract, multiply, divide, equal] = ["sub", "mul", "div", "eq"].map((name) =>
    `${type}.${name}` as Opcode
  );
  const [systems, n, systemsPerTask] = [word.systems, word.n, word.systemsPerTask].map(read);
  const [scratch, scratchPerTask] = [address(word.scratch), distance(word.scratchPerTask)];
  const access = laneAccess(f, size, groups);
  const operands = kinds.map((kind, i) => ({
    kind,
    base: address(operandsAt + wordsPerOperand * i),
    systemStride: distance(operandsAt + wordsPerOperand * i + 1),
    stride: distance(operandsAt + wordsPerOperand * i + 2),
    pointers: access.pointers(kind),
    /** Bytes from the start of a system to the current equation. */
    at: f.local("address"),
    vectors: f.locals("v128", groups),
  }));
  type OperandLocals = typeof operands[number];
  const [lower, diagonal, upper, rhs, output] = operands;
  const [system, systemLast, equation] = f.locals("i32", 3);
  const stored = f.local("address");
  const [eliminated, solution] = [f.locals("v128", groups), f.locals("v128", groups)];
  const [isSkipped, quotient] = [f.locals("v128", groups), f.locals("v128", groups)];
  const zero = f.local("v128");

  const load = ({ kind, pointers, at, vectors }: OperandLocals) => access.load(kind, pointers, at, vectors);
  /** value - factor * other. */
  const subtractProduct = (value: Local, factor: Local, other: Local) => () =>
    f.op(subtract, value, () => f.op(multiply, factor, other));

  /**
   * Transforms equation i to x[i] = solution - eliminated x[i + 1]. A skipped equation keeps the previous
   * values.
   */
  const eliminate = (isFirst: boolean) => {
    for (const operand of isFirst ? [diagonal, upper, rhs] : [lower, diagonal, upper, rhs]) load(operand);
    for (let i = 0; i < groups; i++) {
      const [low, pivot, right] = [lower.vectors[i], diagonal.vectors[i], rhs.vectors[i]];
      f.set(isSkipped[i], () => f.op(equal, pivot, zero));
      if (!isFirst) {
        f.set(pivot, subtractProduct(pivot, low, eliminated[i]));
        f.set(right, subtractProduct(right, low, solution[i]));
      }
      const keepIfSkipped = (value: Local, dividend: Local) => {
        f.set(quotient[i], () => f.op(divide, dividend, pivot));
        f.set(value, () => f.op("v128.bitselect", isFirst ? zero : value, quotient[i], isSkipped[i]));
      };
      keepIfSkipped(eliminated[i], upper.vectors[i]);
      keepIfSkipped(solution[i], right);
    }
    f.storeVectors(stored, [...isSkipped, ...eliminated, ...solution]);
    for (const operand of [lower, diagonal, upper, rhs]) f.increment(operand.at, operand.stride);
    f.increment(stored, storedBytes);
    f.increment(equation, -1);
  };
  /** Stores x[i], or zero if the equation is skipped. */
  const finish = () => {
    for (let i = 0; i < groups; i++) {
      f.set(rhs.vectors[i], () => f.op("v128.andnot", solution[i], isSkipped[i]));
    }
    access.store(output.kind, output.pointers, output.at, rhs.vectors);
  };

  f.set(system, () => f.op("i32.mul", task, systemsPerTask));
  f.set(systemLast, () => f.op("i32.add", system, systemsPerTask));
  f.set(systemLast, () => f.smaller(systemLast, systems));
  f.increment(systemLast, -1);
  f.increment(scratch, () => f.op("address.mul", task, scratchPerTask));
  f.while(() => f.op("i32.le_s", system, systemLast), () => {
    for (const operand of operands) {
      access.place(operand.pointers, operand.base, operand.systemStride, system, systemLast);
      f.set(operand.at, 0);
    }
    f.set(stored, scratch);
    f.set(equation, n);
    eliminate(true);
    f.while(equation, () => eliminate(false));

    f.set(equation, n);
    f.set(output.at, () => f.op("address.sub", () => f.op("address.mul", output.stride, n), output.stride));
    finish();
    // If the last equation is skipped, the equation before it has no neighbour.
    for (let i = 0; i < groups; i++) {
      f.set(solution[i], () => f.op("v128.andnot", solution[i], isSkipped[i]));
    }
    f.increment(stored, -storedBytes);
    f.increment(equation, -1);
    f.while(equation, () => {
      f.increment(stored, -storedBytes);
      f.set(output.at, () => f.op("address.sub", output.at, output.stride));
      [...isSkipped, ...eliminated, ...rhs.vectors].forEach((vector, i) =>
        f.set(vector, () => f.load("v128.load", stored, 16 * i))
      );
      for (let i = 0; i < groups; i++) {
        f.set(rhs.vectors[i], subtractProduct(rhs.vectors[i], eliminated[i], solution[i]));
        f.set(
          solution[i],
          () => f.op("v128.bitselect", solution[i], rhs.vectors[i], isSkipped[i]),
        );
      }
      finish();
      f.increment(equation, -1);
    });
    f.increment(system, groups * lanes);
  });
}
