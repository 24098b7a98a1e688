/**
 * Tridiagonal systems by Thomas' algorithm: elimination from the first equation to the last, then substitution back. One
 * system is a chain of divisions, so the lanes of a vector, and two vectors at a time, hold different systems. A skipped
 * equation costs as much as any: its lanes are computed and thrown away.
 */
import type { BufferView } from "../device.ts";
import { bytesPerElement } from "../dtype.ts";
import { addressOf } from "./address.ts";
import type { Memory } from "./memory.ts";
import type { Pool } from "./pool.ts";
import { addTask, Executable, newModule } from "./executable.ts";
import { laneAccess, type Lanes, lanesOf } from "./lane_access.ts";
import type { Local, ModuleBuilder, Opcode } from "./wasm.ts";

/** Vectors of systems that are solved together. */
const groups = 2;

/** An equation after elimination, for each vector: whether it is skipped, a coefficient and a right side. */
const storedBytes = 3 * 16 * groups;

/** Words of the descriptor: these, then address and strides of each operand; all distances are in words. */
const word = { systems: 0, n: 1, systemsPerTask: 2, scratch: 3, scratchPerTask: 4, operands: 5 } as const;

/** Elements of all systems worth a task of their own. */
const elementsPerTask = 2 ** 14;

/** Solves tridiagonal systems. */
export class TridiagonalSolver {
  readonly #memory: Memory;
  readonly #pool: Pool;
  readonly #descriptor: number;
  readonly #executables = new Map<number, Executable>();

  constructor(memory: Memory, pool: Pool) {
    this.#memory = memory;
    this.#pool = pool;
    this.#descriptor = memory.allocate(4 * (word.operands + 3 * 5)).address;
  }

  /**
   * See `Device.tridiagonal`.
   *
   * @param views lower, diagonal, upper, rhs and output.
   */
  run(views: readonly BufferView[]): void {
    const [systems, n] = views[3].shape;
    if (systems * n === 0) return;
    const together = groups * 16 / bytesPerElement(views[4].dtype);
    // Vectors of adjacent systems must be full; the rest is done lane by lane.
    const whole = systems - systems % together;
    if (whole > 0) this.#launch(views, 0, whole, n, true);
    if (whole < systems) this.#launch(views, whole, systems - whole, n, false);
  }

  #launch(views: readonly BufferView[], first: number, systems: number, n: number, full: boolean): void {
    const size = bytesPerElement(views[4].dtype);
    const together = groups * 16 / size;
    const tasks = Math.max(1, Math.min(64, Math.floor(systems * n / elementsPerTask)));
    const systemsPerTask = together * Math.ceil(systems / (tasks * together));
    const used = Math.ceil(systems / systemsPerTask);
    const scratchPerTask = n * storedBytes;
    const scratch = this.#memory.allocate(used * scratchPerTask);
    const descriptor = this.#pool.describe(this.#descriptor, 4 * (word.operands + 3 * 5));
    const words = this.#memory.i32;
    const at = descriptor / 4;
    words[at + word.systems] = systems;
    words[at + word.n] = n;
    words[at + word.systemsPerTask] = systemsPerTask;
    words[at + word.scratch] = scratch.address / 4;
    words[at + word.scratchPerTask] = scratchPerTask / 4;
    let key = size === 8 ? 1 : 0;
    views.forEach((view, i) => {
      const stride = view.shape[0] === 1 ? 0 : view.strides[0];
      key = key * 3 + lanesOf(stride, full, i === 4);
      const to = at + word.operands + 3 * i;
      words[to] = (addressOf(view) + first * stride * size) / 4;
      words[to + 1] = stride * size / 4;
      words[to + 2] = view.strides[1] * size / 4;
    });
    let executable = this.#executables.get(key);
    if (!executable) {
      const lanes: Lanes[] = [];
      for (let i = 0, rest = key; i < 5; i++, rest = Math.floor(rest / 3)) lanes.unshift(rest % 3);
      this.#executables.set(key, executable = new Executable(this.#memory, emitSolve(size, lanes)));
    }
    this.#pool.run(executable, "solve", used, descriptor);
    this.#memory.release(scratch);
  }
}

function emitSolve(size: 4 | 8, kinds: readonly Lanes[]): ModuleBuilder {
  const module = newModule();
  const { f, task, descriptor } = addTask(module, "solve");
  const lanes = 16 / size;
  const type = size === 4 ? "f32x4" : "f64x2";
  const [subtract, multiply, divide, equal] = ["sub", "mul", "div", "eq"].map((name) =>
    `${type}.${name}` as Opcode
  );
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
  const readAddress = (at: number) => {
    const local = f.local("address");
    f.set(local, () => f.loadAddress(descriptor, 4 * at));
    return local;
  };
  const [systems, n, systemsPerTask] = [read(word.systems), read(word.n), read(word.systemsPerTask)];
  const [scratch, scratchPerTask] = [readAddress(word.scratch), readDistance(word.scratchPerTask)];
  const access = laneAccess(f, size, groups);
  const operands = kinds.map((kind, i) => ({
    kind,
    base: readAddress(word.operands + 3 * i),
    systemStride: readDistance(word.operands + 3 * i + 1),
    stride: readDistance(word.operands + 3 * i + 2),
    pointers: access.pointers(kind),
    /** Bytes from there to the equation at hand. */
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

  /** Leaves equation i as x[i] = solution - eliminated x[i + 1]; a skipped one leaves those before it in place. */
  const eliminate = (isFirst: boolean) => {
    for (const operand of isFirst ? [diagonal, upper, rhs] : [lower, diagonal, upper, rhs]) load(operand);
    for (let i = 0; i < groups; i++) {
      const [low, pivot, right] = [lower.vectors[i], diagonal.vectors[i], rhs.vectors[i]];
      f.set(isSkipped[i], () => f.op(equal, pivot, zero));
      f.store("v128.store", stored, isSkipped[i], 48 * i);
      if (!isFirst) {
        f.set(pivot, subtractProduct(pivot, low, eliminated[i]));
        f.set(right, subtractProduct(right, low, solution[i]));
      }
      const keepIfSkipped = (value: Local, dividend: Local, offset: number) => {
        f.set(quotient[i], () => f.op(divide, dividend, pivot));
        f.set(value, () => f.op("v128.bitselect", isFirst ? zero : value, quotient[i], isSkipped[i]));
        f.store("v128.store", stored, value, offset);
      };
      keepIfSkipped(eliminated[i], upper.vectors[i], 48 * i + 16);
      keepIfSkipped(solution[i], right, 48 * i + 32);
    }
    for (const operand of [lower, diagonal, upper, rhs]) f.increment(operand.at, operand.stride);
    f.increment(stored, storedBytes);
    f.increment(equation, -1);
  };
  /** Puts x[i] where the equation is not skipped, and zero where it is. */
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
    // Behind a skipped last equation the one before it has no neighbour.
    for (let i = 0; i < groups; i++) {
      f.set(solution[i], () => f.op("v128.andnot", solution[i], isSkipped[i]));
    }
    f.increment(stored, -storedBytes);
    f.increment(equation, -1);
    f.while(equation, () => {
      f.increment(stored, -storedBytes);
      f.set(output.at, () => f.op("address.sub", output.at, output.stride));
      for (let i = 0; i < groups; i++) {
        f.set(isSkipped[i], () => f.load("v128.load", stored, 48 * i));
        f.set(eliminated[i], () => f.load("v128.load", stored, 48 * i + 16));
        f.set(rhs.vectors[i], () => f.load("v128.load", stored, 48 * i + 32));
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
  return module;
}
