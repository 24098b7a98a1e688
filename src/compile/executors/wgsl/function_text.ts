/** Pieces of WGSL. */
import type { DType } from "../../../device/dtype.ts";
import { valueType } from "../../../device/webgpu/scalar_wgsl.ts";
import { coordinates } from "../../../device/webgpu/strided.ts";
import type { Word } from "./gpu_layout.ts";

/** Part of a memory that a kernel touches. */
export interface Access {
  readonly space: "slots" | "spill";
  readonly start: number;
  readonly end: number;
  readonly isWrite: boolean;
  /** Accesses of the same owner touch each element from the same invocation. */
  readonly owner?: string;
}

/** A WGSL function under construction, with the arguments that one of its calls has. */
export class FunctionText {
  readonly names: string[] = [];
  readonly args: number[] = [];
  readonly lines: string[] = [];
  readonly accesses: Access[] = [];

  /** Adds a parameter, a u32, and this call's argument for it. */
  param(name: string, value: number): string {
    this.names.push(name);
    this.args.push(value);
    return name;
  }

  push(...lines: string[]): void {
    for (const line of lines) this.lines.push(line);
  }

  /** Without a name: calls of functions with the same text share one. */
  get text(): string {
    const params = this.names.map((name) => `${name}: u32`).join(", ");
    return `(${params}) {\n${this.lines.map(indent).join("\n")}\n}`;
  }
}

export function indent(line: string): string {
  return `  ${line}`;
}

/** A word of memory as a value of a dtype. A bool is zero or one, whatever the word. */
export function fromWord(word: Word, dtype: DType, text: string): string {
  if (dtype === "bool") return `(${text} != ${word === "f32" ? "0.0" : "0u"})`;
  const type = valueType(dtype);
  return type === word ? text : `bitcast<${type}>(${text})`;
}

/** The opposite of {@linkcode fromWord}. */
export function toWord(word: Word, dtype: DType, value: string): string {
  if (dtype === "bool") return word === "f32" ? `select(0.0, 1.0, ${value})` : `select(0u, 1u, ${value})`;
  return valueType(dtype) === word ? value : `bitcast<${word}>(${value})`;
}

/** The coordinates of the row-major position `i`, with the lengths as parameters of a function: see {@linkcode coordinates}. */
export function coordinatesOf(f: FunctionText, shape: readonly number[]) {
  return coordinates(shape.length, "i", (axis) => f.param(`length${axis}`, shape[axis]));
}
