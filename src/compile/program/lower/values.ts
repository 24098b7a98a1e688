/** Types of lowering: the program of a loop, and the values of its nodes while it is lowered. */
import type { DType } from "../../../device/dtype.ts";
import type { Shape } from "../../../device/shape.ts";
import type { Node, OperationNode } from "../../trace/graph.ts";
import type { Operand, Program } from "../program.ts";

/** A program, and the nodes of its inputs and results. */
export interface Lowered {
  /** Number of samples. */
  readonly batch: number;
  readonly program: Program;
  /** The node of each input of the program. */
  readonly inputs: readonly Node[];
  /** Where each of the loop's sums is among the results. */
  readonly sums: readonly Sum[];
  /** Where each of the loop's outputs is among the results: per sample, or summed over the samples. */
  readonly outputs: readonly { readonly from: "outputs" | "stepSums"; readonly position: number }[];
}

/** A sum over the steps: a sum of the program, a weight gradient, or an operation on sums that runs after the loop. Undefined if it is zero. */
export type Sum =
  | { readonly from: "sum"; readonly position: number; readonly shape: Shape }
  | { readonly from: "weight gradient"; readonly position: number; readonly shape: Shape }
  | {
    readonly from: "after the loop";
    readonly node: OperationNode;
    readonly inputs: readonly (Sum | Node)[];
  }
  | undefined;

/** A node's value while its loop is lowered. */
export type Value =
  /** A value per sample, in the shape of one sample. */
  | { readonly kind: "sample"; readonly operand: Operand }
  /** A view of an input, in the shape of the batch. Its reader decides whether the samples share it. */
  | {
    readonly kind: "input";
    readonly input: Node;
    readonly shape: Shape;
    readonly strides: readonly number[];
    readonly offset: number;
  }
  | { readonly kind: "literal"; readonly value: number; readonly dtype: DType }
  /** The transpose of a matrix with one row per sample. */
  | { readonly kind: "transposed"; readonly of: Operand }
  /** The sum of an operand over the samples; `shape` is the shape of the sum. */
  | { readonly kind: "sum over samples"; readonly operand: Operand; readonly shape: Shape }
  /** A sum over the steps and, for gradients, over the samples. */
  | { readonly kind: "loop sum"; readonly sum: NonNullable<Sum> };
