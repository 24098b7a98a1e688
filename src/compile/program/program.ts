/**
 * A loop for one sample, as a list of kernels over flat memory: what the emitters for Wasm and WGSL read. Nothing here
 * depends on the number of samples, of steps, or on a device.
 */
import type { Reduction } from "../../device/device.ts";
import type { DType } from "../../device/dtype.ts";
import type { Scalar } from "../../device/scalar.ts";

/** Memory of one sample. */
export interface Slot {
  /** Elements. */
  readonly size: number;
  readonly dtype: DType;
  /** Whether it holds its content from step to step. */
  readonly persistent: boolean;
}

/** A strided window on a slot, or on an input that all samples share. Strides and offset count elements. */
export interface Operand {
  readonly slot?: number;
  /** The position of a shared input in {@linkcode Program.inputs}. */
  readonly shared?: number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** output[i] = expression(operands[0][i], ...). */
export interface MapKernel {
  readonly kind: "map";
  readonly expression: Scalar;
  readonly operands: readonly Operand[];
  readonly output: Operand;
}

/** output[i] = combination over `axes` of expression(operands[0][i, axes], ...); the output keeps the axes, one long. */
export interface ReduceKernel {
  readonly kind: "reduce";
  readonly reduction: Reduction;
  readonly axes: readonly number[];
  readonly shape: readonly number[];
  readonly expression: Scalar;
  readonly operands: readonly Operand[];
  readonly output: Operand;
}

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]. */
export interface ContractKernel {
  readonly kind: "contract";
  readonly a: Operand;
  readonly b: Operand;
  readonly output: Operand;
  /** Number that each sum starts from, zero by default: the same for all samples. */
  readonly start?: Operand;
  /** Function of each sum that is stored in its place: of it, which is input 0, and of the same element of operands. */
  readonly then?: { readonly expression: Scalar; readonly operands: readonly Operand[] };
}

/** output[i, j] = table[indices[i], j], NaN where there is no such row: at positions that each sample computes. */
export interface GatherKernel {
  readonly kind: "gather";
  /** `(rows, columns)` of floats, which the samples share. */
  readonly table: Operand;
  /** `(count)`, int32. */
  readonly indices: Operand;
  /** `(count, columns)`. */
  readonly output: Operand;
}

/** gradient[i, j] += sum over r, and over the samples, of a[r, i] b[r, j]: the gradient of a weight matrix. */
export interface AccumulateKernel {
  readonly kind: "accumulate";
  readonly a: Operand;
  readonly b: Operand;
  /** Position of the matrix in {@linkcode Program.weightGradients}. */
  readonly gradient: number;
}

export type Kernel = MapKernel | ReduceKernel | ContractKernel | GatherKernel | AccumulateKernel;

/** An input of the loop. */
export interface Input {
  /** `state`: before the first step. `row`: a row a step. `constant`: the same in all steps. */
  readonly role: "state" | "row" | "constant";
  readonly dtype: DType;
  /** Elements of one sample (and step), or all of them when the samples share it. */
  readonly size: number;
  /** The slot that a sample's own values are loaded into; a shared input has none and is read in place. */
  readonly slot?: number;
  /** Values of samples that a tile has beyond the batch: those of another sample, or, for gradients, zeros. */
  readonly padding: "repeat" | "zero";
}

/** A loop for one sample. */
export interface Program {
  /** The type of its floats. */
  readonly dtype: "float32" | "float64";
  readonly slots: readonly Slot[];
  readonly inputs: readonly Input[];
  /** Kernels of a step, in order. */
  readonly kernels: readonly Kernel[];
  /** The state after a step, in the order of the inputs that are state. */
  readonly next: readonly Operand[];
  /** Values written out in every step, before the state moves on. */
  readonly outputs: readonly Operand[];
  /** Values summed over the samples in every step: gradients of rows that the samples share. */
  readonly stepSums: readonly Operand[];
  /** Slots that start from zero; at the end each is written out for every sample, or its sum over the samples is. */
  readonly sums: readonly { readonly slot: number; readonly over: "steps" | "steps and samples" }[];
  /** Sizes of the matrices that {@linkcode AccumulateKernel}s add to. */
  readonly weightGradients: readonly number[];
  /** Whether the rows are taken from the last to the first. */
  readonly backward: boolean;
}
