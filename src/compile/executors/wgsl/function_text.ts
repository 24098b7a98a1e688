/** WGSL functions under construction. */
import type { DType } from "../../../device/dtype.ts";
import { valueType } from "../../../device/webgpu/kernels/scalar_wgsl.ts";
import { coordinates } from "../../../device/webgpu/kernels/strided.ts";
import type { Word } from "./buffer_groups.ts";

/** A range of memory that a kernel reads or writes. */
export interface Access {
  readonly space: "slots" | "spill";
  readonly start: number;
  readonly end: number;
  readonly isWrite: boolean;
  /** Two accesses with the same owner access each element of each sample from the same invocation. */
  readonly owner?: string;
}

/** A WGSL function under construction, and the arguments of one call. */
export class FunctionText {
  readonly names: string[] = [];
  readonly args: number[] = [];
  readonly lines: string[] = [];
  readonly accesses: Access[] = [];
  /** The variable with the first element of an invocation. */
  readonly first: "lane" | "invocation";

  readonly hasLiteralSizes: boolean;

  /**
   * @param hasLiteralSizes Whether lengths and strides are literals. Otherwise they are parameters: the compilers of software GPUs
   * unroll loops with literal bounds for seconds.
   * @param isForAllSamples Whether an invocation computes its elements for all samples of the workgroup.
   */
  constructor(hasLiteralSizes: boolean, isForAllSamples = false) {
    this.hasLiteralSizes = hasLiteralSizes;
    this.first = isForAllSamples ? "invocation" : "lane";
  }

  /** Adds a parameter, a u32, and this call's argument for it. */
  param(name: string, value: number): string {
    this.names.push(name);
    this.args.push(value);
    return name;
  }

  /** A length or a stride, as a u32 modulo 2^32: a literal, or a parameter. */
  size(name: string, value: number): string {
    return this.hasLiteralSizes ? literal(value) : this.param(name, value);
  }

  push(...lines: string[]): void {
    for (const line of lines) this.lines.push(line);
  }

  /** Calls `body`, and returns the statements that it adds instead of adding them. */
  capture<T>(body: () => T): { readonly result: T; readonly lines: readonly string[] } {
    const start = this.lines.length;
    const result = body();
    return { result, lines: this.lines.splice(start) };
  }

  /** Parameters and body. The name is omitted, so that equal functions can be merged. */
  get text(): string {
    const params = this.names.map((name) => `${name}: u32`).join(", ");
    return `(${params}) {\n${this.lines.map(indent).join("\n")}\n}`;
  }
}

/** An integer as a u32 modulo 2^32. */
export function literal(value: number): string {
  return `${value >>> 0}u`;
}

export function indent(line: string): string {
  return `  ${line}`;
}

/** Converts a word of memory to a value of a dtype. A bool is stored as zero or one. */
export function fromWord(word: Word, dtype: DType, text: string): string {
  if (dtype === "bool") return `(${text} != ${word === "f32" ? "0.0" : "0u"})`;
  const type = valueType(dtype);
  return type === word ? text : `bitcast<${type}>(${text})`;
}

/** The inverse of {@linkcode fromWord}. */
export function toWord(word: Word, dtype: DType, value: string): string {
  if (dtype === "bool") return word === "f32" ? `select(0.0, 1.0, ${value})` : `select(0u, 1u, ${value})`;
  return valueType(dtype) === word ? value : `bitcast<${word}>(${value})`;
}

/** The coordinates of the row-major position `i`, see {@linkcode coordinates}. */
export function coordinatesOf(f: FunctionText, shape: readonly number[]) {
  return coordinates(shape.length, "i", (axis) => f.size(`length${axis}`, shape[axis]));
}
