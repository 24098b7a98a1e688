/**
 * Weights packed for products: four terms of an output are consecutive, so that an invocation reads four at once, and neighbouring
 * invocations read neighbouring words. Terms after the last four follow, with the outputs as the last axis.
 */
import type { BufferView, KernelDevice } from "../../../device/device.ts";
import { identity } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import type { Operand, Program } from "../../program/program.ts";

/** Terms that are read at once. */
export const groupSize = 4;

/** A matrix of weights: a view of an input that the samples share. */
export interface PackedMatrix {
  /** Position of the input. */
  readonly input: number;
  /** The view, without repeated axes. The last axis counts the terms. */
  readonly view: Pick<Operand, "shape" | "strides" | "offset" | "dtype">;
}

/** An operand of a product. */
export interface SumOperand extends Operand {
  /** Undefined unless the operand is a packed matrix, whose strides are those of packed words. */
  readonly packed?: {
    /** Position in {@linkcode PackedWeights.matrices}. */
    readonly matrix: number;
    /** Words of all outputs: of four terms, and of a term after the last four divided by four. */
    readonly outputs: number;
    /** Terms of a sum. */
    readonly terms: number;
  };
}

/** A program whose weights are packed. */
export interface PackedWeights {
  readonly program: Program;
  readonly matrices: readonly PackedMatrix[];
}

/** Replaces the weights of products with packed weights. */
export function packWeights(program: Program): PackedWeights {
  const matrices: PackedMatrix[] = [];
  const keys = new Map<string, number>();
  const pack = (operand: Operand, axis: number): SumOperand => {
    const { shared, shape, strides, offset, dtype } = operand;
    const terms = shape.at(axis)!;
    if (
      shared === undefined || program.inputs[shared].role !== "constant" || dtype !== "float32" ||
      terms < groupSize
    ) return operand;
    const last = axis + shape.length;
    const axes = shape.flatMap((_, i) => i === last || strides[i] === 0 || shape[i] === 1 ? [] : [i]);
    const view = {
      shape: [...axes.map((i) => shape[i]), terms],
      strides: [...axes.map((i) => strides[i]), strides[last]],
      offset,
      dtype,
    };
    const key = JSON.stringify([shared, view]);
    let matrix = keys.get(key);
    if (matrix === undefined) keys.set(key, matrix = matrices.push({ input: shared, view }) - 1);
    const packedStrides = shape.map(() => 0);
    let outputs = groupSize;
    for (const i of axes.toReversed()) {
      packedStrides[i] = outputs;
      outputs *= shape[i];
    }
    packedStrides[last] = 1;
    return {
      ...operand,
      offset: 0,
      strides: packedStrides,
      packed: { matrix, outputs, terms },
    } as SumOperand;
  };
  const kernels = program.kernels.map((kernel) => {
    if (kernel.kind !== "contract") return kernel;
    const [a, b, ...others] = kernel.operands;
    return { ...kernel, operands: [pack(a, -1), pack(b, -2), ...others] as const };
  });
  return { program: { ...program, kernels }, matrices };
}

/** Words of a packed matrix. */
export function packedSize({ view: { shape } }: PackedMatrix): number {
  return sizeOf(shape);
}

/** Writes a packed matrix. */
export function writePacked(
  device: KernelDevice,
  { view: { shape, strides, offset } }: PackedMatrix,
  input: BufferView,
  output: BufferView,
): void {
  const terms = shape.at(-1)!;
  const stride = strides.at(-1)!;
  const [outputs, outputStrides] = [shape.slice(0, -1), strides.slice(0, -1)];
  const full = terms - terms % groupSize;
  const write = (shape: readonly number[], strides: readonly number[], first: number) => {
    if (sizeOf(shape) === 0) return;
    const source = { ...input, shape, strides, offset: input.offset + offset + first * stride };
    const start = output.offset + first * sizeOf(outputs);
    device.map(identity, [source], { ...output, shape, strides: contiguousStrides(shape), offset: start });
  };
  write([full / groupSize, ...outputs, groupSize], [groupSize * stride, ...outputStrides, stride], 0);
  write([terms - full, ...outputs], [stride, ...outputStrides], full);
}
