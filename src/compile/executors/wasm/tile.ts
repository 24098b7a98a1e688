/** Code that all kernels share: the layout of a tile's memory, and the parts of loops. */
import { bytesPerElement } from "../../../device/dtype.ts";
import { newModule } from "../../../device/cpu/runtime/executable.ts";
import type { FunctionBuilder, Local, ModuleBuilder, ValueType } from "../../../device/cpu/assembler/wasm.ts";
import type { Operand, Program } from "../../program/program.ts";

/**
 * A tile of samples, of which each lane of a vector owns one, and the functions that have been emitted for it. A slot holds
 * the tile's samples side by side for each element.
 */
export class Tile {
  readonly module: ModuleBuilder = newModule();
  /** Vectors of an element in a slot. */
  readonly vectors: number;
  /** Bytes of a float. */
  readonly bytes: 4 | 8;
  /** Floats of a vector. */
  readonly lanes: 2 | 4;
  readonly floats: "f32x4" | "f64x2";
  /** Samples of the tile. */
  readonly samples: number;
  /** Bytes of an element of a slot. */
  readonly unit: number;
  readonly #functions = new Map<string, FunctionBuilder>();

  constructor(dtype: Program["dtype"], vectors: number) {
    const single = dtype === "float32";
    this.vectors = vectors;
    this.bytes = single ? 4 : 8;
    this.lanes = single ? 4 : 2;
    this.floats = single ? "f32x4" : "f64x2";
    this.samples = this.lanes * vectors;
    this.unit = 16 * vectors;
  }

  /** A helper or kernel, emitted once. */
  function(key: string, params: readonly ValueType[], emit: (f: FunctionBuilder) => void): FunctionBuilder {
    let f = this.#functions.get(key);
    if (!f) {
      f = this.module.addFunction(`k${this.#functions.size}`, params);
      this.#functions.set(key, f);
      emit(f);
    }
    return f;
  }

  /**
   * Loops over axes, outermost first. At each turn of an axis the pointers move by its step in bytes, so that the entire
   * nest moves each by its first axis: length times step.
   *
   * @param enter Runs before each turn through the innermost axis.
   */
  nest(
    f: FunctionBuilder,
    shape: readonly number[],
    pointers: readonly { local: Local; steps: readonly number[] }[],
    body: () => void,
    enter: () => void = () => {},
    axis = 0,
  ): void {
    const isInnermost = axis === shape.length - 1;
    if (isInnermost || shape.length === 0) enter();
    if (axis === shape.length) return body();
    const turn = () => {
      this.nest(f, shape, pointers, body, enter, axis + 1);
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

  /** A list with an entry for each vector of an element. */
  forVectors<T>(make: (v: number) => T): T[] {
    return Array.from({ length: this.vectors }, (_, v) => make(v));
  }

  /** Bytes between neighbouring elements of an operand, for a stride of one. */
  unitOf(operand: Operand): number {
    return operand.slot === undefined ? bytesPerElement(operand.dtype) : this.unit;
  }

  /** Pushes vector number `v` of an operand's element at an address. */
  loadVector(f: FunctionBuilder, operand: Operand, address: Local, v: number, offset = 0): void {
    if (operand.slot !== undefined) f.load("v128.load", address, offset + 16 * v);
    else if (bytesPerElement(operand.dtype) === 4) f.load("v128.load32_splat", address, offset);
    else f.load("v128.load64_splat", address, offset);
  }
}

/** A text that is the same for operands that are loaded alike. */
export function loadKey(operand: Operand): string {
  return `${operand.slot === undefined ? "shared" : "own"} ${operand.dtype}`;
}
