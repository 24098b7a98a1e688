/**
 * A {@link ./program.ts Program} as WebAssembly. A lane of a vector owns a sample: a tile of samples runs the whole loop,
 * and every scalar operation of the program is one vector instruction for four (float32) or two (float64) of them. A slot
 * holds, for each element, the tile's samples side by side. Each kernel is a function of addresses, so that the stages of
 * a Runge-Kutta step, which differ in nothing else, share their code, and the engine optimises it early.
 */
import { newModule } from "../device/cpu/program.ts";
import { ScalarEmitter } from "../device/cpu/scalar_wasm.ts";
import {
  type FunctionBuilder,
  hasRelaxedSimd,
  type Local,
  type ModuleBuilder,
  type Opcode,
} from "../device/cpu/wasm.ts";
import { collapse } from "../device/collapse.ts";
import { bytesPerElement } from "../device/dtype.ts";
import { lower as lowerMath } from "../device/float32_math.ts";
import type { Scalar } from "../device/scalar.ts";
import { type Layout, layOut } from "./layout.ts";
import type {
  AccumulateKernel,
  ContractKernel,
  MapKernel,
  Operand,
  Program,
  ReduceKernel,
} from "./program.ts";

/** Words of the description that a run is given, all addresses in bytes. */
export const runWords = {
  batch: 0,
  steps: 1,
  tasks: 2,
  /** Memory for slots, a piece a task. */
  scratch: 3,
  /** Memory for totals and for sums over samples, a piece a task, zero at first. */
  totals: 4,
  /** Memory for sums of each step, a piece a task, zero at first. */
  stepSums: 5,
  /** Then the addresses of inputs, final states, outputs and sums over steps. */
  addresses: 6,
} as const;

/** A program's module, and what it needs to know of memory. */
export interface WasmLoop {
  readonly module: ModuleBuilder;
  /** Samples of a tile. */
  readonly samples: number;
  /** Bytes of slots that a task needs. */
  readonly scratchBytes: number;
  /** Bytes of totals that a task needs. */
  readonly totalsBytes: number;
  /** Of each total where it starts in a task's piece, in elements, and its columns with padding. */
  readonly totals: readonly { offset: number; rows: number; columns: number; stride: number }[];
  /** Of each sum over samples where it starts in a task's piece, in elements; others have none. */
  readonly sums: readonly (number | undefined)[];
}

/** Emits a program for tiles of `vectors` vectors. */
export function emitWasm(program: Program, vectors: number): WasmLoop {
  return new Emitter(program, vectors).emit();
}

/** Vector registers that a tile of a matrix product may fill with sums; sixteen there are. */
const sumRegisters = 12;

/** How a matrix product is walked. */
interface Tiling {
  /** Whether runs of rows stay in registers, and not of columns. */
  readonly byRows: boolean;
  /** Rows or columns of a run. */
  readonly width: number;
}

/** A matrix that all samples share, copied so that a product reads it in order: runs, in them the summed axis. */
interface Pack {
  readonly operand: Operand;
  readonly depth: number;
  readonly length: number;
  readonly width: number;
  readonly strides: { readonly depth: number; readonly length: number };
  /** In bytes, from the start of a task's memory. */
  readonly offset: number;
}

class Emitter {
  readonly #program: Program;
  readonly #layout: Layout;
  readonly #packs = new Map<string, Pack>();
  readonly #module = newModule();
  readonly #kernels = new Map<string, FunctionBuilder>();
  /** Vectors of an element in a slot. */
  readonly #vectors: number;
  readonly #bytes: 4 | 8;
  readonly #lanes: 2 | 4;
  readonly #floats: "f32x4" | "f64x2";
  /** Samples of a tile. */
  readonly #samples: number;
  /** Bytes of an element of a slot. */
  readonly #unit: number;

  constructor(program: Program, vectors: number) {
    this.#program = program;
    this.#layout = layOut(program);
    this.#vectors = vectors;
    const single = program.dtype === "float32";
    this.#bytes = single ? 4 : 8;
    this.#lanes = single ? 4 : 2;
    this.#floats = single ? "f32x4" : "f64x2";
    this.#samples = this.#lanes * vectors;
    this.#unit = 16 * vectors;
  }

  emit(): WasmLoop {
    const { kernels, sums } = this.#program;
    let end = 0;
    const take = (size: number) => (end += size) - size;
    const shapes = this.#program.totals.map((_, total) => {
      const kernel = kernels.find((kernel): kernel is AccumulateKernel =>
        kernel.kind === "accumulate" && kernel.total === total
      )!;
      return { rows: kernel.a.shape.at(-1)!, columns: kernel.b.shape.at(-1)! };
    });
    const totals = shapes.map(({ rows, columns }) => {
      const stride = Math.ceil(columns / this.#lanes) * this.#lanes;
      return { offset: take(rows * stride), rows, columns, stride };
    });
    const overSamples = sums.map(({ slot, over }) =>
      over === "steps" ? undefined : take(this.#program.slots[slot].size)
    );
    const totalsBytes = Math.ceil(end * this.#bytes / 64) * 64;
    // Behind the slots a transposed operand of the totals' products.
    const widest = Math.max(0, ...totals.map(({ stride }) => stride));
    const spare = this.#layout.size * this.#unit;
    const packed = this.#planPacks(spare + widest * this.#samples * this.#bytes);
    const scratchBytes = Math.ceil(packed / 64) * 64;
    this.#run(totals, overSamples, spare, scratchBytes, totalsBytes);
    return {
      module: this.#module,
      samples: this.#samples,
      scratchBytes,
      totalsBytes,
      totals,
      sums: overSamples,
    };
  }

  /** The function of a task: tiles number task, task + tasks, ... */
  #run(
    totals: readonly { offset: number; stride: number }[],
    overSamples: readonly (number | undefined)[],
    spare: number,
    scratchBytes: number,
    totalsBytes: number,
  ): void {
    const { inputs, kernels, next, outputs, stepSums, sums, slots, backward } = this.#program;
    const f = this.#module.addFunction("run", ["i32", "i32"]);
    const [task, words] = f.params;
    const [batch, steps, tasks, scratch, total, stepTotal] = f.locals("i32", 6);
    const [first, valid, done, step] = f.locals("i32", 4);
    const word = (index: number) => () => f.load("i32.load", words, 4 * index);
    f.set(batch, word(runWords.batch));
    f.set(steps, word(runWords.steps));
    f.set(tasks, word(runWords.tasks));
    const piece = (base: number, bytes: number) => () =>
      f.op("i32.add", word(base), () => f.op("i32.mul", task, bytes));
    f.set(scratch, piece(runWords.scratch, scratchBytes));
    f.set(total, piece(runWords.totals, totalsBytes));

    const sizeOf = (operand: Operand) => operand.shape.reduce((product, length) => product * length, 1);
    /** Elements of a step's sums. */
    const stepSize = stepSums.reduce((sum, operand) => sum + sizeOf(operand), 0);
    f.set(
      stepTotal,
      () =>
        f.op(
          "i32.add",
          word(runWords.stepSums),
          () => f.op("i32.mul", () => f.op("i32.mul", task, steps), stepSize * this.#bytes),
        ),
    );

    const states = inputs.flatMap((input, i) => input.role === "state" ? [i] : []);
    const finals = runWords.addresses + inputs.length;
    const outputsAt = finals + states.length;
    const sumsAt = outputsAt + outputs.length;
    const at = (slot: number) => () => f.op("i32.add", scratch, this.#layout.offsets[slot]! * this.#unit);
    /** The address of this tile's part of an array of rows of `size` elements a sample. */
    const tileOf = (index: number, size: number, row?: Local, bytes: number = this.#bytes) => () => {
      f.push(word(index));
      f.push(first);
      if (row) f.op("i32.add", () => f.op("i32.mul", row, batch));
      f.op("i32.mul", size * bytes);
      f.op("i32.add");
    };
    const load = (i: number, row?: Local) => {
      const { slot, size, dtype, padding } = inputs[i];
      if (slot === undefined || this.#layout.offsets[slot] === undefined || size === 0) return;
      const bytes = bytesPerElement(dtype);
      const from = tileOf(runWords.addresses + i, size, row, bytes);
      f.call(this.#loader(bytes, padding), at(slot), from, size, valid);
    };
    const store = (index: number, slot: number, offset: number, size: number, row?: Local) => {
      if (size === 0) return;
      const from = () => f.op("i32.add", scratch, (this.#layout.offsets[slot]! + offset) * this.#unit);
      f.call(this.#storer(), tileOf(index, size, row), from, size, valid);
    };

    for (const pack of this.#packs.values()) {
      f.call(this.#packer(pack), () => f.op("i32.add", scratch, pack.offset), () => {
        f.push(word(runWords.addresses + pack.operand.shared!));
        f.op("i32.add", pack.operand.offset * this.#bytes);
      });
    }
    f.set(first, () => f.op("i32.mul", task, this.#samples));
    f.while(() => f.op("i32.lt_u", first, batch), () => {
      f.set(valid, () => f.op("i32.sub", batch, first));
      f.if(() => f.op("i32.gt_u", valid, this.#samples), () => f.set(valid, this.#samples));
      inputs.forEach(({ role }, i) => role !== "row" && load(i));
      for (const { slot } of sums) this.#fillZero(f, at(slot), slots[slot].size);
      f.set(done, 0);
      f.while(() => f.op("i32.lt_u", done, steps), () => {
        if (backward) f.set(step, () => f.op("i32.sub", () => f.op("i32.sub", steps, done), 1));
        else f.set(step, done);
        inputs.forEach(({ role }, i) => role === "row" && load(i, step));
        /** Where an operand starts, as a kernel's parameter. */
        const address = (operand: Operand) => () => {
          if (operand.slot !== undefined) {
            return f.op(
              "i32.add",
              scratch,
              (this.#layout.offsets[operand.slot]! + operand.offset) * this.#unit,
            );
          }
          const { role, size, dtype } = inputs[operand.shared!];
          const bytes = bytesPerElement(dtype);
          f.push(word(runWords.addresses + operand.shared!));
          if (role === "row") f.op("i32.add", () => f.op("i32.mul", step, size * bytes));
          if (operand.offset !== 0) f.op("i32.add", operand.offset * bytes);
        };
        for (const kernel of kernels) {
          if (kernel.kind === "map") {
            if (sizeOf(kernel.output) === 0) continue;
            f.call(this.#map(kernel), address(kernel.output), ...kernel.operands.map(address));
          } else if (kernel.kind === "reduce") {
            if (sizeOf(kernel.output) === 0) continue;
            f.call(this.#reduce(kernel), address(kernel.output), ...kernel.operands.map(address));
          } else if (kernel.kind === "contract") {
            if (sizeOf(kernel.output) === 0) continue;
            const side = (operand: Operand) => {
              const pack = this.#packs.get(this.#packKey(kernel, operand));
              return pack ? () => f.op("i32.add", scratch, pack.offset) : address(operand);
            };
            f.call(this.#contract(kernel), address(kernel.output), side(kernel.a), side(kernel.b));
          } else {
            const { offset, stride } = totals[kernel.total];
            const target = () => f.op("i32.add", total, offset * this.#bytes);
            f.call(
              this.#accumulate(kernel, stride),
              target,
              address(kernel.a),
              address(kernel.b),
              () => f.op("i32.add", scratch, spare),
            );
          }
        }
        outputs.forEach((operand, i) =>
          store(outputsAt + i, operand.slot!, operand.offset, sizeOf(operand), step)
        );
        let within = 0;
        for (const operand of stepSums) {
          const size = sizeOf(operand);
          if (size === 0) continue;
          const offset = within * this.#bytes;
          const target = () => {
            f.op("i32.add", stepTotal, () => f.op("i32.mul", step, stepSize * this.#bytes));
            f.op("i32.add", offset);
          };
          const source = () => f.op("i32.add", at(operand.slot!), operand.offset * this.#unit);
          f.call(this.#laneSum(), target, source, size);
          within += size;
        }
        // All new states are known before the first old one is overwritten, unless one is another's old state.
        this.#moveStates(f, next, states.map((i) => inputs[i].slot!), at);
        f.increment(done, 1);
      });
      states.forEach((i, n) => store(finals + n, inputs[i].slot!, 0, inputs[i].size));
      sums.forEach(({ slot, over }, i) => {
        if (over === "steps") return store(sumsAt + i, slot, 0, slots[slot].size);
        const target = () => f.op("i32.add", total, overSamples[i]! * this.#bytes);
        if (slots[slot].size > 0) f.call(this.#laneSum(), target, at(slot), slots[slot].size);
      });
      f.set(first, () => f.op("i32.add", first, () => f.op("i32.mul", tasks, this.#samples)));
    });
  }

  #moveStates(
    f: FunctionBuilder,
    next: readonly Operand[],
    slots: readonly number[],
    at: (slot: number) => () => void,
  ) {
    const sizeOf = (i: number) => next[i].shape.reduce((product, length) => product * length, 1);
    const source = (i: number) => () => {
      at(next[i].slot!)();
      if (next[i].offset !== 0) f.op("i32.add", next[i].offset * this.#unit);
    };
    next.forEach((operand, i) => {
      const readLater = slots.slice(0, i).includes(operand.slot!);
      if (readLater) throw new Error("a state moves into another's place");
    });
    next.forEach((operand, i) => {
      if (operand.slot !== slots[i] && sizeOf(i) > 0) {
        f.call(this.#copier(), at(slots[i]), source(i), sizeOf(i));
      }
    });
  }

  #fillZero(f: FunctionBuilder, address: () => void, size: number): void {
    if (size > 0) f.call(this.#zeroer(), address, size);
  }

  /** Copies a slot: (to, from, size). */
  #copier(): FunctionBuilder {
    return this.#function("copy", 3, (f) => {
      const [to, from, left] = f.params;
      f.doWhile(() => {
        for (let v = 0; v < this.#vectors; v++) {
          f.store("v128.store", to, () => f.load("v128.load", from, 16 * v), 16 * v);
        }
        f.increment(to, this.#unit);
        f.increment(from, this.#unit);
      }, () => f.tee(left, () => f.op("i32.sub", left, 1)));
    });
  }

  /** Fills a slot with zeros: (address, size). */
  #zeroer(): FunctionBuilder {
    return this.#function("zero", 2, (f) => {
      const [to, left] = f.params;
      f.doWhile(() => {
        for (let v = 0; v < this.#vectors; v++) f.store("v128.store", to, () => f.i32x4(0), 16 * v);
        f.increment(to, this.#unit);
      }, () => f.tee(left, () => f.op("i32.sub", left, 1)));
    });
  }

  /** A helper or kernel, emitted once. */
  #function(key: string, params: number, emit: (f: FunctionBuilder) => void): FunctionBuilder {
    let f = this.#kernels.get(key);
    if (!f) {
      f = this.#module.addFunction(`k${this.#kernels.size}`, Array(params).fill("i32"));
      this.#kernels.set(key, f);
      emit(f);
    }
    return f;
  }

  /**
   * Spreads rows of samples into a slot: (slot, address, size, valid). Lanes beyond the valid samples repeat the last one,
   * so that nothing overflows in them, or are zero, so that they add nothing to sums.
   */
  #loader(memoryBytes: 4 | 8, padding: "repeat" | "zero"): FunctionBuilder {
    return this.#function(`load ${memoryBytes} ${padding}`, 4, (f) => {
      const [to, from, size, valid] = f.params;
      const rows = f.locals("i32", this.#samples);
      const left = f.local("i32");
      rows.forEach((row, lane) => {
        f.set(row, () =>
          f.op("i32.add", from, () =>
            f.op("i32.mul", () =>
              f.op("i32.mul", () => {
                f.op("select", lane, () => f.op("i32.sub", valid, 1), () => f.op("i32.gt_u", valid, lane));
              }, size), memoryBytes)));
      });
      const masks = f.locals("v128", this.#vectors);
      if (padding === "zero") {
        masks.forEach((mask, v) => {
          const lanes = Array.from(
            { length: 4 },
            (_, i) => v * this.#lanes + (this.#lanes === 2 ? i >> 1 : i),
          );
          f.set(
            mask,
            () =>
              f.op(
                "i32x4.lt_u",
                () => f.i32x4(lanes[0], lanes[1], lanes[2], lanes[3]),
                () => f.op("i32x4.splat", valid),
              ),
          );
        });
      }
      const finish = (v: number) => {
        if (padding === "zero") f.op("v128.and", masks[v]);
      };
      const one = () => {
        for (let v = 0; v < this.#vectors; v++) {
          f.store("v128.store", to, () => {
            f.i32x4(0);
            for (let lane = 0; lane < this.#lanes; lane++) {
              const vector = f.local("v128");
              f.set(vector);
              const name = memoryBytes === 4 ? "v128.load32_lane" : "v128.load64_lane";
              f.laneMemory(name, lane, rows[v * this.#lanes + lane], vector);
            }
            finish(v);
          }, 16 * v);
        }
        rows.forEach((row) => f.increment(row, memoryBytes));
        f.increment(to, this.#unit);
      };
      const many = this.#lanes;
      f.set(left, size);
      if (memoryBytes === this.#bytes) {
        // As many elements as lanes at once: load along the elements, transpose in registers.
        f.while(() => f.op("i32.ge_s", left, many), () => {
          for (let v = 0; v < this.#vectors; v++) {
            const vectors = Array.from({ length: many }, (_, lane) => {
              const vector = f.local("v128");
              f.set(vector, () => f.load("v128.load", rows[v * many + lane]));
              return vector;
            });
            this.#transposed(f, vectors).forEach((push, element) =>
              f.store("v128.store", to, () => {
                push();
                finish(v);
              }, element * this.#unit + 16 * v)
            );
          }
          rows.forEach((row) => f.increment(row, many * memoryBytes));
          f.increment(to, many * this.#unit);
          f.increment(left, -many);
        });
      }
      f.while(() => f.op("i32.gt_s", left, 0), () => {
        one();
        f.increment(left, -1);
      });
    });
  }

  /** Code that pushes each column of a square of vectors. */
  #transposed(f: FunctionBuilder, rows: readonly Local[]): (() => void)[] {
    if (rows.length === 2) {
      return [() => f.shuffle64([0, 2], rows[0], rows[1]), () => f.shuffle64([1, 3], rows[0], rows[1])];
    }
    const [a, b, c, d] = rows;
    const halves = f.locals("v128", 4);
    f.set(halves[0], () => f.shuffle32([0, 4, 1, 5], a, b));
    f.set(halves[1], () => f.shuffle32([2, 6, 3, 7], a, b));
    f.set(halves[2], () => f.shuffle32([0, 4, 1, 5], c, d));
    f.set(halves[3], () => f.shuffle32([2, 6, 3, 7], c, d));
    return [0, 1, 2, 3].map((column) => () =>
      f.shuffle64(column % 2 === 0 ? [0, 2] : [1, 3], halves[column >> 1], halves[2 + (column >> 1)])
    );
  }

  /** Gathers a slot into rows of samples: (address, slot, size, valid). */
  #storer(): FunctionBuilder {
    return this.#function("store", 4, (f) => {
      const [to, from, size, valid] = f.params;
      const [left, element, row] = f.locals("i32", 3);
      const many = this.#lanes;
      const rowBytes = () => f.op("i32.mul", size, this.#bytes);
      f.set(left, size);
      f.if(() => f.op("i32.eq", valid, this.#samples), () => {
        f.while(() => f.op("i32.ge_s", left, many), () => {
          f.set(row, to);
          for (let v = 0; v < this.#vectors; v++) {
            const vectors = Array.from({ length: many }, (_, i) => {
              const vector = f.local("v128");
              f.set(vector, () => f.load("v128.load", from, i * this.#unit + 16 * v));
              return vector;
            });
            for (const push of this.#transposed(f, vectors)) {
              f.store("v128.store", row, push);
              f.increment(row, rowBytes);
            }
          }
          f.increment(to, many * this.#bytes);
          f.increment(from, many * this.#unit);
          f.increment(left, -many);
        });
      });
      // The rest, a number at a time.
      const [lane, rest] = f.locals("i32", 2);
      f.set(lane, 0);
      f.while(() => f.op("i32.lt_u", lane, valid), () => {
        f.set(row, () => f.op("i32.add", to, () => f.op("i32.mul", lane, rowBytes)));
        f.set(element, () => f.op("i32.add", from, () => f.op("i32.mul", lane, this.#bytes)));
        f.set(rest, left);
        f.while(() => f.op("i32.gt_s", rest, 0), () => {
          const [load, store] = this.#bytes === 4
            ? ["i32.load", "i32.store"] as const
            : ["i64.load", "i64.store"] as const;
          f.store(store, row, () => f.load(load, element));
          f.increment(row, this.#bytes);
          f.increment(element, this.#unit);
          f.increment(rest, -1);
        });
        f.increment(lane, 1);
      });
    });
  }

  /** Adds the sums over the lanes of a slot: (address, slot, size). */
  #laneSum(): FunctionBuilder {
    return this.#function("lane sum", 3, (f) => {
      const [to, from, left] = f.params;
      const sum = f.local("v128");
      const scalar = this.#bytes === 4 ? "f32" : "f64";
      f.while(() => f.op("i32.gt_s", left, 0), () => {
        f.set(sum, () => f.load("v128.load", from));
        for (let v = 1; v < this.#vectors; v++) {
          f.set(sum, () => f.op(`${this.#floats}.add`, sum, () => f.load("v128.load", from, 16 * v)));
        }
        f.store(`${scalar}.store`, to, () => {
          f.load(`${scalar}.load`, to);
          for (let lane = 0; lane < this.#lanes; lane++) {
            f.lane(`${this.#floats}.extract_lane`, lane, sum);
            f.op(`${scalar}.add`);
          }
        });
        f.increment(to, this.#bytes);
        f.increment(from, this.#unit);
        f.increment(left, -1);
      });
    });
  }

  /** Bytes between neighbouring elements of an operand, for a stride of one. */
  #unitOf(operand: Operand): number {
    return operand.slot === undefined ? bytesPerElement(operand.dtype) : this.#unit;
  }

  /** Pushes vector number `v` of an operand's element at an address. */
  #loadVector(f: FunctionBuilder, operand: Operand, address: Local, v: number, offset = 0): void {
    if (operand.slot !== undefined) f.load("v128.load", address, offset + 16 * v);
    else if (bytesPerElement(operand.dtype) === 4) f.load("v128.load32_splat", address, offset);
    else f.load("v128.load64_splat", address, offset);
  }

  /**
   * Loops over axes, outermost first. At each turn of an axis the pointers move by its step in bytes, so that the entire
   * nest moves each by its first axis: length times step.
   */
  #nest(
    f: FunctionBuilder,
    shape: readonly number[],
    pointers: readonly { local: Local; steps: readonly number[] }[],
    body: () => void,
    axis = 0,
  ): void {
    if (axis === shape.length) return body();
    const isInnermost = axis === shape.length - 1;
    const turn = () => {
      this.#nest(f, shape, pointers, body, axis + 1);
      for (const { local, steps } of pointers) {
        const move = steps[axis] - (isInnermost ? 0 : shape[axis + 1] * steps[axis + 1]);
        if (move !== 0) f.increment(local, move);
      }
    };
    if (shape[axis] === 1) return turn();
    const count = f.local("i32");
    f.set(count, shape[axis]);
    f.doWhile(turn, () => f.tee(count, () => f.op("i32.sub", count, 1)));
  }

  #scalarEmitter(f: FunctionBuilder, expression: Scalar): ScalarEmitter {
    return new ScalarEmitter(this.#module, f, lowerMath(expression), new Set());
  }

  /** Pushes an expression's value for one vector of an element. */
  #emitExpression(
    f: FunctionBuilder,
    emitter: ScalarEmitter,
    operands: readonly Operand[],
    pointers: readonly Local[],
    v: number,
  ): void {
    emitter.emit({
      input: (i) => this.#loadVector(f, operands[i], pointers[i], v),
      index: () => {
        throw new Error("a position has no meaning inside a loop");
      },
    });
  }

  #map(kernel: MapKernel): FunctionBuilder {
    const { output, operands, expression } = kernel;
    const all = [output, ...operands];
    const walk = collapse(output.shape, all.map((operand) => operand.strides));
    const key = `map ${describe(expression)} ${walk.shape} | ${walk.strides.join(" ; ")} | ${
      operands.map(sharing)
    }`;
    return this.#function(key, all.length, (f) => {
      const emitter = this.#scalarEmitter(f, expression);
      const pointers = f.params.map((local, i) => ({
        local,
        steps: walk.strides[i].map((stride) => stride * this.#unitOf(all[i])),
      }));
      this.#nest(f, walk.shape, pointers, () => {
        for (let v = 0; v < this.#vectors; v++) {
          f.store("v128.store", f.params[0], () => {
            this.#emitExpression(f, emitter, operands, f.params.slice(1), v);
            if (expression.type === "bool") f.op("i32x4.neg"); // All ones become 1.
          }, 16 * v);
        }
      });
    });
  }

  #reduce(kernel: ReduceKernel): FunctionBuilder {
    const { output, operands, expression, axes, shape, reduction } = kernel;
    const key = `${reduction} ${describe(expression)} ${shape} over ${axes} | ${output.strides} | ${
      operands.map((operand) => operand.strides).join(" ; ")
    } | ${operands.map(sharing)}`;
    return this.#function(key, 1 + operands.length, (f) => {
      const emitter = this.#scalarEmitter(f, expression);
      const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
      const order = [...kept, ...axes];
      const lengths = order.map((axis) => shape[axis]);
      const pointers = operands.map((operand, i) => ({
        local: f.params[1 + i],
        steps: order.map((axis) => operand.strides[axis] * this.#unitOf(operand)),
      }));
      const target = { local: f.params[0], steps: kept.map((axis) => output.strides[axis] * this.#unit) };
      const sums = f.locals("v128", this.#vectors);
      const empty = axes.some((axis) => shape[axis] === 0);
      // The outer nest counts on the inner one to have moved the pointers past its first axis.
      const inner = pointers.map(({ local, steps }) => ({ local, steps: steps.slice(kept.length) }));
      const innerLengths = lengths.slice(kept.length);
      const outer = pointers.map(({ local, steps }) => ({
        local,
        steps: steps.slice(0, kept.length),
        inside: empty ? 0 : innerLengths[0] * steps[kept.length],
      }));
      const body = () => {
        const start = { sum: 0, max: -Infinity, min: Infinity }[reduction];
        for (const sum of sums) f.set(sum, () => this.#floats === "f32x4" ? f.f32x4(start) : f.f64x2(start));
        if (!empty) {
          this.#nest(f, innerLengths, inner, () => {
            sums.forEach((sum, v) => {
              const add = { sum: "add", max: "max", min: "min" }[reduction];
              f.set(sum, () =>
                f.op(
                  `${this.#floats}.${add}` as Opcode,
                  sum,
                  () => this.#emitExpression(f, emitter, operands, f.params.slice(1), v),
                ));
            });
          });
          // Back to where the reduction began: the outer axes step from there.
          for (const { local, inside } of outer) if (inside !== 0) f.increment(local, -inside);
        }
        sums.forEach((sum, v) => f.store("v128.store", f.params[0], sum, 16 * v));
      };
      this.#nest(f, lengths.slice(0, kept.length), [target, ...outer], body);
    });
  }

  /** acc = a * b + acc on vectors; `a` and `b` push them. */
  #multiplyAdd(f: FunctionBuilder, sum: Local, a: () => void, b: () => void): void {
    if (hasRelaxedSimd) f.set(sum, () => f.op(`${this.#floats}.relaxed_madd`, a, b, sum));
    else f.set(sum, () => f.op(`${this.#floats}.add`, sum, () => f.op(`${this.#floats}.mul`, a, b)));
  }

  #tiling({ a, b, output }: ContractKernel): Tiling {
    const [m, n] = output.shape.slice(-2);
    const byRows = b.slot !== undefined && (a.slot === undefined || m > n);
    const length = byRows ? m : n;
    const most = Math.min(length, Math.max(1, Math.floor(sumRegisters / this.#vectors)));
    // A run that divides the length leaves no slow remainder, as long as it hides the latency of an addition.
    const width =
      [0, 1, 2].map((less) => most - less).find((w) => w >= Math.min(4, most) && length % w === 0) ?? most;
    return { byRows, width };
  }

  #packKey(kernel: ContractKernel, { shared, offset, shape, strides }: Operand): string {
    return `${shared} ${offset} ${shape} ${strides} ${this.#tiling(kernel).width}`;
  }

  /** Finds the matrices to copy and gives them places, from a number of bytes on. Returns where they end. */
  #planPacks(start: number): number {
    let end = start;
    for (const kernel of this.#program.kernels) {
      if (kernel.kind !== "contract" || kernel.output.shape.length !== 2) continue;
      const { byRows, width } = this.#tiling(kernel);
      const operand = byRows ? kernel.a : kernel.b;
      if (operand.shared === undefined || this.#program.inputs[operand.shared].role === "row") continue;
      const [along, across] = byRows ? [0, 1] : [1, 0];
      const key = this.#packKey(kernel, operand);
      if (this.#packs.has(key)) continue;
      this.#packs.set(key, {
        operand,
        depth: operand.shape[across],
        length: operand.shape[along],
        width,
        strides: { depth: operand.strides[across], length: operand.strides[along] },
        offset: end,
      });
      end += operand.shape[0] * operand.shape[1] * this.#bytes;
    }
    return end;
  }

  /** Copies a matrix into runs: (to, from). */
  #packer({ depth, length, width, strides }: Pack): FunctionBuilder {
    return this.#function(`pack ${depth} ${length} ${width} ${strides.depth} ${strides.length}`, 2, (f) => {
      const [to, from] = f.params;
      const [load, store] = this.#bytes === 4
        ? ["i32.load", "i32.store"] as const
        : ["i64.load", "i64.store"] as const;
      const run = (count: number) =>
        this.#nest(f, [depth], [
          { local: to, steps: [count * this.#bytes] },
          { local: from, steps: [strides.depth * this.#bytes] },
        ], () => {
          for (let i = 0; i < count; i++) {
            f.store(store, to, () => f.load(load, from, i * strides.length * this.#bytes), i * this.#bytes);
          }
        });
      const runs = Math.floor(length / width);
      this.#nest(f, [runs], [{ local: from, steps: [width * strides.length * this.#bytes] }], () => {
        run(width);
        if (depth * strides.depth !== 0) f.increment(from, -depth * strides.depth * this.#bytes);
      });
      if (length % width > 0) run(length % width);
    });
  }

  /**
   * A matrix product, in register tiles: sums for a run of columns (or of rows, when the matrix that all samples share is
   * on the left) stay in registers while the summed axis is walked.
   */
  #contract(kernel: ContractKernel): FunctionBuilder {
    const { a, b, output } = kernel;
    const rank = output.shape.length;
    const [m, n] = output.shape.slice(-2);
    const depth = a.shape[rank - 1];
    const { byRows, width } = this.#tiling(kernel);
    /** The side whose elements change along a run, and the one that stays. */
    const [tiled, fixed] = byRows ? [a, b] : [b, a];
    const isPacked = this.#packs.has(this.#packKey(kernel, tiled));
    const strides = isPacked
      ? [a, b].map((side) => side === tiled ? "packed" : side.strides)
      : [a, b].map((side) => side.strides);
    const key = `contract ${output.shape} ${depth} | ${strides.join(" ; ")} ; ${output.strides} | ${
      [a, b].map(sharing)
    }`;
    return this.#function(key, 3, (f) => {
      const [tiledAxis, fixedAxis] = byRows ? [rank - 2, rank - 1] : [rank - 1, rank - 2];
      const [length, others] = byRows ? [m, n] : [n, m];
      const step = (operand: Operand, axis: number) => operand.strides[axis] * this.#unitOf(operand);
      /** Bytes along a run, along the summed axis, and from run to run. */
      const tiledStep = isPacked ? this.#bytes : step(tiled, tiledAxis);
      const tiledDepth = (count: number) => isPacked ? count * this.#bytes : step(tiled, fixedAxis);
      const tiledAlong = isPacked ? width * depth * this.#bytes : width * tiledStep;
      const fixedDepth = step(fixed, tiledAxis);
      const outputStep = step(output, tiledAxis);
      const sums = Array.from({ length: width }, () => f.locals("v128", this.#vectors));
      const held = f.locals("v128", this.#vectors);
      const weight = f.local("v128");
      const [outputAt, aAt, bAt] = f.params;
      const [tiledAt, fixedAt] = byRows ? [aAt, bAt] : [bAt, aAt];
      const [tiledPointer, fixedPointer] = f.locals("i32", 2);

      const tile = (count: number) => {
        for (const row of sums.slice(0, count)) {
          for (const sum of row) f.set(sum, () => this.#floats === "f32x4" ? f.f32x4(0) : f.f64x2(0));
        }
        f.set(tiledPointer, tiledAt);
        f.set(fixedPointer, fixedAt);
        const term = (turn: number) => {
          held.forEach((vector, v) =>
            f.set(vector, () => this.#loadVector(f, fixed, fixedPointer, v, turn * fixedDepth))
          );
          for (let i = 0; i < count; i++) {
            const offset = i * tiledStep + turn * tiledDepth(count);
            if (tiled.slot === undefined) {
              f.set(weight, () => this.#loadVector(f, tiled, tiledPointer, 0, offset));
              sums[i].forEach((sum, v) =>
                this.#multiplyAdd(f, sum, () => f.get(held[v]), () => f.get(weight))
              );
            } else {
              sums[i].forEach((sum, v) =>
                this.#multiplyAdd(
                  f,
                  sum,
                  () => f.get(held[v]),
                  () => this.#loadVector(f, tiled, tiledPointer, v, offset),
                )
              );
            }
          }
        };
        const turns = [4, 2].find((turns) => depth % turns === 0) ?? 1;
        if (depth > 0) {
          this.#nest(f, [depth / turns], [
            { local: tiledPointer, steps: [turns * tiledDepth(count)] },
            { local: fixedPointer, steps: [turns * fixedDepth] },
          ], () => {
            for (let turn = 0; turn < turns; turn++) term(turn);
          });
        }
        for (let i = 0; i < count; i++) {
          sums[i].forEach((sum, v) => f.store("v128.store", outputAt, sum, i * outputStep + 16 * v));
        }
      };
      const batch = output.shape.slice(0, -2);
      const runs = Math.floor(length / width);
      const pointer = (local: Local, operand: Operand, other: number, along: number) => ({
        local,
        steps: [...batch.map((_, axis) => step(operand, axis)), other],
        along,
      });
      const pointers = [
        pointer(outputAt, output, step(output, fixedAxis), width * outputStep),
        pointer(tiledAt, tiled, 0, tiledAlong),
        pointer(fixedAt, fixed, step(fixed, fixedAxis), 0),
      ];
      this.#nest(f, [...batch, others], pointers, () => {
        this.#nest(
          f,
          [runs],
          pointers.map(({ local, along }) => ({ local, steps: [along] })),
          () => tile(width),
        );
        if (length % width > 0) tile(length % width);
        for (const { local, along } of pointers) if (along !== 0) f.increment(local, -runs * along);
      });
    });
  }

  /** total[i, j] += sum over r and the lanes of a[r, i] b[r, j]: (total, a, b, spare memory). */
  #accumulate({ a, b }: AccumulateKernel, stride: number): FunctionBuilder {
    const [inner, m] = a.shape;
    const n = b.shape[1];
    const key = `accumulate ${m} ${n} ${inner} ${stride} | ${a.strides} ; ${b.strides}`;
    return this.#function(key, 4, (f) => {
      const [totalAt, aAt, bAt, spare] = f.params;
      const rowBytes = stride * this.#bytes;
      const columns = stride / this.#lanes;
      const tileColumns = columns % 2 === 0 ? 2 : 1;
      const most = Math.min(m, tileColumns === 2 ? 6 : 8);
      const tileRows = [0, 1, 2].map((less) =>
        most - less
      ).find((w) => w >= Math.min(4, most) && m % w === 0) ?? most;
      const [rowPointer, column, source, spareAt] = f.locals("i32", 4);
      const sums = Array.from({ length: tileRows }, () => f.locals("v128", tileColumns));
      const lanes = f.locals("v128", tileColumns);
      const weight = f.local("v128");

      const transpose = () => {
        // b with the samples outside: column j of sample s at spare[s, j].
        f.set(source, bAt);
        f.set(spareAt, spare);
        this.#nest(f, [n], [
          { local: source, steps: [b.strides[1] * this.#unit] },
          { local: spareAt, steps: [this.#bytes] },
        ], () => {
          for (let sample = 0; sample < this.#samples; sample++) {
            const [v, lane] = [Math.floor(sample / this.#lanes), sample % this.#lanes];
            f.laneMemory(
              this.#bytes === 4 ? "v128.store32_lane" : "v128.store64_lane",
              lane,
              spareAt,
              () => f.load("v128.load", source, 16 * v),
              sample * rowBytes,
            );
          }
        });
      };
      const tile = (rows: number) => {
        const each = (act: (sum: Local, i: number, j: number) => void) =>
          sums.slice(0, rows).forEach((row, i) => row.forEach((sum, j) => act(sum, i, j)));
        const target = () => f.op("i32.add", rowPointer, column);
        const [address] = f.locals("i32", 1);
        f.set(address, target);
        each((sum, i, j) => f.set(sum, () => f.load("v128.load", address, i * rowBytes + 16 * j)));
        f.set(spareAt, () => f.op("i32.add", spare, column));
        for (let sample = 0; sample < this.#samples; sample++) {
          lanes.forEach((lane, j) =>
            f.set(lane, () => f.load("v128.load", spareAt, sample * rowBytes + 16 * j))
          );
          for (let i = 0; i < rows; i++) {
            f.set(weight, () =>
              f.load(
                this.#bytes === 4 ? "v128.load32_splat" : "v128.load64_splat",
                source,
                i * a.strides[1] * this.#unit + sample * this.#bytes,
              ));
            sums[i].forEach((sum, j) =>
              this.#multiplyAdd(f, sum, () => f.get(weight), () => f.get(lanes[j]))
            );
          }
        }
        each((sum, i, j) => f.store("v128.store", address, sum, i * rowBytes + 16 * j));
      };
      const rowOfTiles = (rows: number) => {
        f.set(column, 0);
        this.#nest(f, [columns / tileColumns], [{ local: column, steps: [16 * tileColumns] }], () =>
          tile(rows));
      };
      this.#nest(f, [inner], [
        { local: aAt, steps: [a.strides[0] * this.#unit] },
        { local: bAt, steps: [b.strides[0] * this.#unit] },
      ], () => {
        transpose();
        f.set(rowPointer, totalAt);
        f.set(source, aAt);
        this.#nest(f, [Math.floor(m / tileRows)], [
          { local: rowPointer, steps: [tileRows * rowBytes] },
          { local: source, steps: [tileRows * a.strides[1] * this.#unit] },
        ], () =>
          rowOfTiles(tileRows));
        if (m % tileRows > 0) {
          rowOfTiles(m % tileRows);
        }
      });
    });
  }
}

/** What tells whether two operands are loaded alike. */
function sharing(operand: Operand): string {
  return `${operand.slot === undefined ? "shared" : "own"} ${operand.dtype}`;
}

const descriptions = new WeakMap<Scalar, string>();

/** An expression as text, equal for equal ones. */
function describe(root: Scalar): string {
  let text = descriptions.get(root);
  if (text !== undefined) return text;
  const names = new Map<Scalar, number>();
  const lines: string[] = [];
  const visit = (scalar: Scalar): number => {
    let name = names.get(scalar);
    if (name === undefined) {
      const args = scalar.args.map(visit);
      names.set(scalar, name = names.size);
      lines.push(`${scalar.op} ${scalar.type} ${scalar.value ?? ""} ${args}`);
    }
    return name;
  };
  visit(root);
  descriptions.set(root, text = lines.join(","));
  return text;
}
