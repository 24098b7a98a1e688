/**
 * A loop for one sample, as a list of kernels over flat memory. Programs do not depend on the number of samples, the number of
 * steps, or the device. Passes rewrite programs; executors run them.
 */
import type { Reduction } from "../../device/device.ts";
import type { DType } from "../../device/dtype.ts";
import type { Scalar } from "../../device/scalar/scalar.ts";

/** Memory of one sample. */
export interface Slot {
  /** Elements. */
  readonly size: number;
  readonly dtype: DType;
  /** Whether its content is kept from step to step. */
  readonly persistent: boolean;
}

/** A strided view of a slot, or of an input that all samples share. Strides and offset count elements. */
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

/** output[i] = reduction over `axes` of expression(operands[0][i, axes], ...). The output keeps the axes, with length 1. */
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
  /** `a`, `b`, optionally the bias, and the operands of the epilogue. */
  readonly operands: readonly [a: Operand, b: Operand, ...others: Operand[]];
  readonly output: Operand;
  /** Whether sums start from a bias, shared by all samples, instead of zero. */
  readonly hasBias?: boolean;
  /** Elementwise function of the sum (input 0) and of operands (inputs 1, 2 ...) that is stored instead of the sum. */
  readonly epilogue?: Scalar;
}

/** output[i, j] = table[indices[i], j], NaN if the index is out of range. Each sample computes its indices. */
export interface GatherKernel {
  readonly kind: "gather";
  /** The table, `(rows, columns)` of floats that all samples share; and indices, `(count)` of int32. */
  readonly operands: readonly [table: Operand, indices: Operand];
  /** `(count, columns)`. */
  readonly output: Operand;
}

/** gradient[i, j] += sum over r, and over the samples, of a[r, i] b[r, j]: the gradient of a weight matrix. */
export interface AccumulateKernel {
  readonly kind: "accumulate";
  readonly operands: readonly [a: Operand, b: Operand];
  readonly output?: undefined;
  /** Position of the matrix in {@linkcode Program.weightGradients}. */
  readonly gradient: number;
}

export type Kernel = MapKernel | ReduceKernel | ContractKernel | GatherKernel | AccumulateKernel;

/** A table with a function per kind. A missing kind is a type error. */
export type ByKind<K extends { readonly kind: string }, A extends unknown[], R> = {
  readonly [Kind in K["kind"]]: (value: Extract<K, { readonly kind: Kind }>, ...args: A) => R;
};

/** Calls the function of a value's kind. */
export function byKind<K extends { readonly kind: string }, A extends unknown[], R>(
  table: ByKind<K, A, R>,
  value: K,
  ...args: A
): R {
  const apply = table[value.kind as K["kind"]] as (value: K, ...args: A) => R;
  return apply(value, ...args);
}

/** An input of the loop. */
export interface Input {
  /** `state`: the initial state. `row`: one row per step. `constant`: the same in all steps. */
  readonly role: "state" | "row" | "constant";
  readonly dtype: DType;
  /** Elements per sample (and step), or in all if the samples share the input. */
  readonly size: number;
  /** The slot that the values of a sample are loaded into. Undefined for shared inputs, which are read in place. */
  readonly slot?: number;
  /** Values in the padding lanes of a tile: the values of another sample, or zeros for gradients. */
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
  /** The state after a step, in the order of the state inputs. */
  readonly next: readonly Operand[];
  /** Values that each step writes, before the state is updated. */
  readonly outputs: readonly Operand[];
  /** Values that are summed over the samples in each step: gradients of rows that the samples share. */
  readonly stepSums: readonly Operand[];
  /** Slots that start from zero. At the end, each slot is written for every sample, or summed over the samples. */
  readonly sums: readonly { readonly slot: number; readonly over: "steps" | "steps and samples" }[];
  /** Elements of the matrices that {@linkcode AccumulateKernel}s add to. */
  readonly weightGradients: readonly number[];
  /** Whether the loop runs from the last row to the first. */
  readonly backward: boolean;
}
