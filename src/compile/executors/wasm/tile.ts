/** The layout of a tile's memory, and code that all kernels share. */
import { bytesPerElement } from "../../../device/dtype.ts";
import type { FunctionBuilder, Local, ModuleBuilder, ValueType } from "../../../device/cpu/assembler/wasm.ts";
import type { Operand, Program } from "../../program/program.ts";

/**
 * A tile of samples, one per lane, and the functions emitted for it. For each element, a slot stores the samples of the tile in
 * consecutive lanes.
 */
export class Tile {
  readonly module: ModuleBuilder;
  /** Vectors per element of a slot. */
  readonly vectors: number;
  /** Bytes per float. */
  readonly bytes: 4 | 8;
  /** Floats per vector. */
  readonly lanes: 2 | 4;
  readonly floats: "f32x4" | "f64x2";
  /** Samples per tile. */
  readonly samples: number;
  /** Bytes per element of a slot. */
  readonly unit: number;
  readonly #functions = new Map<string, FunctionBuilder>();

  constructor(module: ModuleBuilder, dtype: Program["dtype"], vectors: number) {
    this.module = module;
    const single = dtype === "float32";
    this.vectors = vectors;
    this.bytes = single ? 4 : 8;
    this.lanes = single ? 4 : 2;
    this.floats = single ? "f32x4" : "f64x2";
    this.samples = this.lanes * vectors;
    this.unit = 16 * vectors;
  }

  /** A function, emitted once per key. */
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
   * Emits nested loops over axes, outermost first. In each iteration of an axis, each pointer moves by its step in bytes. The
   * whole nest moves each pointer by the length times the step of its first axis.
   *
   * @param enter Emits code before each loop over the innermost axis.
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

  /** A list with one entry per vector of an element. */
  forVectors<T>(make: (v: number) => T): T[] {
    return Array.from({ length: this.vectors }, (_, v) => make(v));
  }

  /** Bytes between elements of an operand with stride 1. */
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

/** A text that is equal for operands that are loaded by the same instructions. */
export function loadKey(operand: Operand): string {
  return `${operand.slot === undefined ? "shared" : "own"} ${operand.dtype}`;
}
