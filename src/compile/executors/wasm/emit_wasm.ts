/**
 * Emits a {@link ../../program/program.ts Program} as WebAssembly. Each lane of a vector computes one sample: a scalar operation of
 * the program is one vector instruction for four samples (float32) or two samples (float64). A tile of samples runs the whole
 * loop. Kernels are functions of addresses: the stages of a Runge-Kutta step share functions, which the engine optimises early.
 */
import type { FunctionBuilder, Local, ModuleBuilder } from "../../../device/cpu/assembler/wasm.ts";
import { bytesPerElement } from "../../../device/dtype.ts";
import { addTask } from "../../../device/cpu/runtime/executable.ts";
import { sizeOf } from "../../../device/shape.ts";
import { type Layout, layOut } from "../../program/layout.ts";
import {
  type AccumulateKernel,
  type ByKind,
  byKind,
  type Kernel,
  type Operand,
  type Program,
} from "../../program/program.ts";
import { emitAccumulate, layOutWeightGradients, type WeightGradient } from "./accumulate.ts";
import { mapKernel, reduceKernel } from "./elementwise.ts";
import { gatherKernel } from "./gather.ts";
import { fuseEpilogues } from "../../program/passes/fuse_epilogues.ts";
import { contractKernel, layOutPackedMatrices, packedKey, type PackedMatrices, packer } from "./products.ts";
import { Tile } from "./tile.ts";
import { copier, laneSum, loader, storer, zeroer } from "./transfers.ts";

/** Positions of the words of a run's descriptor. Addresses count words. */
export const runWords = {
  batch: 0,
  steps: 1,
  tasks: 2,
  /** Memory for slots, one part per task. */
  scratch: 3,
  /** Memory for weight gradients and sums over samples, one part per task, initially zero. */
  weightGradients: 4,
  /** Memory for step sums, one part per task, initially zero. */
  stepSums: 5,
  /** The first of the addresses of inputs, final states, outputs and sums over steps. */
  addresses: 6,
} as const;

/** The module of a program, and its layout of memory. */
export interface WasmLoop {
  readonly module: ModuleBuilder;
  /** Samples per tile. */
  readonly samples: number;
  /** Bytes of slots per task. */
  readonly scratchBytes: number;
  /** Bytes of weight gradients and sums over samples per task. */
  readonly gradientBytes: number;
  /** Each weight gradient: its offset in the gradients of a task, in elements, and its size with padded columns. */
  readonly weightGradients: readonly { offset: number; rows: number; columns: number; stride: number }[];
  /** Offset of each sum of the program in the gradients of a task, in elements. Undefined for sums over steps alone. */
  readonly sums: readonly (number | undefined)[];
}

/** Emits a program for tiles of `vectors` vectors per element. `settled` is {@linkcode Run.settled}. */
export function emitWasm(
  module: ModuleBuilder,
  program: Program,
  vectors: number,
  settled?: number,
): WasmLoop {
  return new Emitter(module, fuseEpilogues(program), vectors, settled).emit();
}

/** Functions of the kernels with an output: (output, operands). */
const functions: ByKind<
  Exclude<Kernel, AccumulateKernel>,
  [tile: Tile, packs: PackedMatrices],
  FunctionBuilder
> = { map: mapKernel, reduce: reduceKernel, contract: contractKernel, gather: gatherKernel };

class Emitter {
  readonly #program: Program;
  readonly #layout: Layout;
  readonly #tile: Tile;
  readonly #settled: number | undefined;
  #packs: PackedMatrices = new Map();

  constructor(module: ModuleBuilder, program: Program, vectors: number, settled: number | undefined) {
    this.#settled = settled;
    this.#program = program;
    this.#layout = layOut(program);
    this.#tile = new Tile(module, program.dtype, vectors);
  }

  emit(): WasmLoop {
    const { weightGradients, size, end } = layOutWeightGradients(
      this.#tile,
      this.#program,
      this.#layout.size * this.#tile.unit,
    );
    let elements = size;
    const overSamples = this.#program.sums.map(({ slot, over }) => {
      if (over === "steps") return undefined;
      elements += this.#program.slots[slot].size;
      return elements - this.#program.slots[slot].size;
    });
    const gradientBytes = Math.ceil(elements * this.#tile.bytes / 64) * 64;
    const { packs, end: packed } = layOutPackedMatrices(this.#tile, this.#program, end);
    this.#packs = packs;
    const scratchBytes = Math.ceil(packed / 64) * 64;
    this.#run(weightGradients, overSamples, scratchBytes, gradientBytes);
    return {
      module: this.#tile.module,
      samples: this.#tile.samples,
      scratchBytes,
      gradientBytes,
      weightGradients,
      sums: overSamples,
    };
  }

  /** Emits the function of a task, which runs the tiles task, task + tasks, ... */
  #run(
    weightGradients: readonly WeightGradient[],
    overSamples: readonly (number | undefined)[],
    scratchBytes: number,
    gradientBytes: number,
  ): void {
    const { inputs, kernels, next, outputs, stepSums, sums, slots, backward } = this.#program;
    const { f, task, descriptor } = addTask(this.#tile.module, "run");
    const [batch, steps, tasks, first, valid, done, step] = f.locals("i32", 7);
    const [scratch, gradientsAt, stepSum] = f.locals("address", 3);
    const word = (index: number) => () => f.load("i32.load", descriptor, 4 * index);
    const addressAt = (index: number) => () => f.loadAddress(descriptor, 4 * index);
    f.set(batch, word(runWords.batch));
    f.set(steps, word(runWords.steps));
    f.set(tasks, word(runWords.tasks));
    const partOfTask = (base: number, bytes: number) => () =>
      f.op("address.add", addressAt(base), () => f.op("address.mul", task, bytes));
    f.set(scratch, partOfTask(runWords.scratch, scratchBytes));
    f.set(gradientsAt, partOfTask(runWords.weightGradients, gradientBytes));

    const elementsOf = (operand: Operand) => sizeOf(operand.shape);
    /** Total elements of the step sums. */
    const stepSize = stepSums.reduce((sum, operand) => sum + elementsOf(operand), 0);
    f.set(
      stepSum,
      () =>
        f.op(
          "address.add",
          addressAt(runWords.stepSums),
          () => f.op("address.mul", () => f.op("address.mul", task, steps), stepSize * this.#tile.bytes),
        ),
    );

    const states = inputs.flatMap((input, i) => input.role === "state" ? [i] : []);
    const finals = runWords.addresses + inputs.length;
    const outputsAt = finals + states.length;
    const sumsAt = outputsAt + outputs.length;
    const at = (slot: number) => () =>
      f.op("address.add", scratch, this.#layout.offsets[slot]! * this.#tile.unit);
    /** The address of the tile's part of an array with `size` elements per sample. */
    const tileOf = (index: number, size: number, row?: Local, bytes: number = this.#tile.bytes) => () => {
      f.push(addressAt(index));
      f.push(first, "address");
      if (row) f.op("address.add", () => f.op("address.mul", row, batch));
      f.op("address.mul", size * bytes);
      f.op("address.add");
    };
    const load = (i: number, row?: Local) => {
      const { slot, size, dtype, padding } = inputs[i];
      if (slot === undefined || this.#layout.offsets[slot] === undefined || size === 0) return;
      const bytes = bytesPerElement(dtype);
      const from = tileOf(runWords.addresses + i, size, row, bytes);
      f.call(loader(this.#tile, bytes, padding), at(slot), from, size, valid);
    };
    const store = (index: number, slot: number, offset: number, size: number, row?: Local) => {
      if (size === 0) return;
      const from = () =>
        f.op("address.add", scratch, (this.#layout.offsets[slot]! + offset) * this.#tile.unit);
      f.call(storer(this.#tile), tileOf(index, size, row), from, size, valid);
    };

    for (const pack of this.#packs.values()) {
      f.call(packer(this.#tile, pack), () => f.op("address.add", scratch, pack.offset), () => {
        f.push(addressAt(runWords.addresses + pack.operand.shared!));
        f.op("address.add", pack.operand.offset * this.#tile.bytes);
      });
    }
    f.set(first, () => f.op("i32.mul", task, this.#tile.samples));
    f.while(() => f.op("i32.lt_u", first, batch), () => {
      f.set(valid, () => f.op("i32.sub", batch, first));
      f.if(() => f.op("i32.gt_u", valid, this.#tile.samples), () => f.set(valid, this.#tile.samples));
      inputs.forEach(({ role }, i) => role !== "row" && load(i));
      for (const { slot } of sums) {
        if (slots[slot].size > 0) f.call(zeroer(this.#tile), at(slot), slots[slot].size);
      }
      f.set(done, 0);
      f.while(() => f.op("i32.lt_u", done, steps), () => {
        if (backward) f.set(step, () => f.op("i32.sub", () => f.op("i32.sub", steps, done), 1));
        else f.set(step, done);
        inputs.forEach(({ role }, i) => role === "row" && load(i, step));
        /** The address of an operand. */
        const address = (operand: Operand) => () => {
          if (operand.slot !== undefined) {
            return f.op(
              "address.add",
              scratch,
              (this.#layout.offsets[operand.slot]! + operand.offset) * this.#tile.unit,
            );
          }
          const { role, size, dtype } = inputs[operand.shared!];
          const bytes = bytesPerElement(dtype);
          f.push(addressAt(runWords.addresses + operand.shared!));
          if (role === "row") f.op("address.add", () => f.op("address.mul", step, size * bytes));
          if (operand.offset !== 0) f.op("address.add", operand.offset * bytes);
        };
        const filled = weightGradients.map(() => 0);
        kernels.forEach((kernel, position) => {
          if (kernel.output && elementsOf(kernel.output) === 0) return;
          if (kernel.kind !== "accumulate") {
            const operands = kernel.operands.map((operand, i) => {
              const pack = kernel.kind === "contract" && i < 2
                ? this.#packs.get(packedKey(this.#tile, kernel, operand))
                : undefined;
              return pack ? () => f.op("address.add", scratch, pack.offset) : address(operand);
            });
            const kernelFunction = byKind(functions, kernel, this.#tile, this.#packs);
            return f.call(kernelFunction, address(kernel.output), ...operands);
          }
          const gradient = weightGradients[kernel.gradient];
          const later = kernels.slice(position + 1).filter((other) =>
            other.kind === "accumulate" && other.gradient === kernel.gradient
          );
          const addresses = {
            gradient: () => f.op("address.add", gradientsAt, gradient.offset * this.#tile.bytes),
            panelA: () => f.op("address.add", scratch, gradient.panels.a),
            panelB: () => f.op("address.add", scratch, gradient.panels.b),
            a: address(kernel.operands[0]),
            b: address(kernel.operands[1]),
          };
          filled[kernel.gradient] = emitAccumulate(
            this.#tile,
            f,
            kernel,
            gradient,
            addresses,
            filled[kernel.gradient],
            later.length,
          );
        });
        outputs.forEach((operand, i) =>
          store(outputsAt + i, operand.slot!, operand.offset, elementsOf(operand), step)
        );
        let within = 0;
        for (const operand of stepSums) {
          const size = elementsOf(operand);
          if (size === 0) continue;
          const offset = within * this.#tile.bytes;
          const target = () => {
            f.op("address.add", stepSum, () => f.op("address.mul", step, stepSize * this.#tile.bytes));
            f.op("address.add", offset);
          };
          const source = () => f.op("address.add", at(operand.slot!), operand.offset * this.#tile.unit);
          f.call(laneSum(this.#tile), target, source, size);
          within += size;
        }
        // No new state is in the slot of another state: lowering copies such states.
        this.#moveStates(f, next, states.map((i) => inputs[i].slot!), at);
        f.increment(done, 1);
        if (this.#settled !== undefined) {
          const flag = at(inputs[states[this.#settled]].slot!);
          f.if(() => this.#isNonZero(f, flag), () => f.set(done, steps));
        }
      });
      states.forEach((i, n) => store(finals + n, inputs[i].slot!, 0, inputs[i].size));
      sums.forEach(({ slot, over }, i) => {
        if (over === "steps") return store(sumsAt + i, slot, 0, slots[slot].size);
        const target = () => f.op("address.add", gradientsAt, overSamples[i]! * this.#tile.bytes);
        if (slots[slot].size > 0) f.call(laneSum(this.#tile), target, at(slot), slots[slot].size);
      });
      f.set(first, () => f.op("i32.add", first, () => f.op("i32.mul", tasks, this.#tile.samples)));
    });
  }

  #moveStates(
    f: FunctionBuilder,
    next: readonly Operand[],
    slots: readonly number[],
    at: (slot: number) => () => void,
  ) {
    next.forEach(({ slot, shape, offset }, i) => {
      const size = sizeOf(shape);
      if (slot === slots[i] || size === 0) return;
      const source = () => {
        at(slot!)();
        if (offset !== 0) f.op("address.add", offset * this.#tile.unit);
      };
      f.call(copier(this.#tile), at(slots[i]), source, size);
    });
  }

  /** Pushes whether an element is nonzero in all samples of the tile. */
  #isNonZero(f: FunctionBuilder, address: () => void): void {
    const { floats, vectors } = this.#tile;
    for (let v = 0; v < vectors; v++) {
      f.op(`${floats}.eq`, () => f.load("v128.load", address, 16 * v), () => f.i32x4(0));
      if (v > 0) f.op("v128.or");
    }
    f.op("v128.any_true");
    f.op("i32.eqz");
  }
}
