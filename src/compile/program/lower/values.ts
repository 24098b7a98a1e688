/** Types of lowering: a loop, its program, and the values between. */
import type { DType } from "../../../device/dtype.ts";
import type { Scalar } from "../../../device/scalar.ts";
import type { Shape } from "../../../device/shape.ts";
import type { Node, OperationNode } from "../../trace/graph.ts";
import type { Operand, Program } from "../program.ts";

/** A program, and how to call it. */
export interface Lowered {
  readonly program: Program;
  /** The node behind each of the program's inputs. */
  readonly inputs: readonly Node[];
  /** The place of each of the loop's sums in the results. */
  readonly sums: readonly Sum[];
  /** The place of each of the loop's outputs in the results: by sample, or summed over the samples. */
  readonly outputs: readonly { readonly from: "outputs" | "stepSums"; readonly position: number }[];
}

/** A value summed over the steps: a sum of the program, a gradient of weights, or something to compute from those after the loop. */
export type Sum =
  | { readonly from: "sum"; readonly position: number; readonly shape: Shape }
  | { readonly from: "weight gradient"; readonly position: number; readonly shape: Shape }
  | { readonly from: "after"; readonly node: OperationNode; readonly inputs: readonly (Sum | Node)[] }
  | undefined;

/** Leaves of an expression under construction, with what they read. */
export type ExpressionInputs = Map<Scalar, Operand>;

/** A node's value in the program of one sample. */
export type Value =
  /** Each sample has its own; the shape is one sample's. */
  | { readonly kind: "sample"; readonly operand: Operand }
  /** As `sample`, not computed yet: its only reader computes it. */
  | {
    readonly kind: "lazy";
    readonly expression: Scalar;
    readonly leaves: ExpressionInputs;
    /** Scalar operations of the expression. */
    readonly operations: number;
    readonly shape: Shape;
    readonly dtype: DType;
  }
  /** A view of an input, in the batch's shape. Who reads it decides whether samples share it. */
  | {
    readonly kind: "open";
    readonly input: Node;
    readonly shape: Shape;
    readonly strides: readonly number[];
    readonly offset: number;
  }
  | { readonly kind: "literal"; readonly value: number; readonly dtype: DType }
  /** The transpose of a matrix whose rows are the samples. */
  | { readonly kind: "transposed"; readonly of: Operand }
  /** The sum over the samples of what each has; the shape is the sum's. */
  | { readonly kind: "overSamples"; readonly operand: Operand; readonly shape: Shape }
  /** Summed over samples and steps. */
  | { readonly kind: "summed"; readonly sum: NonNullable<Sum> };
