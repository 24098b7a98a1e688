/** Batching rules of primitives. Primitives are made before tensors are, so that this file imports types alone. */
import type { TensorSpec } from "./primitive.ts";
import type { Tensor } from "./tensor.ts";

/** An operand of a batch of calls. */
export interface Batched {
  /** `(batch, ...shape)` if the operand varies over the batch, else `shape`. */
  readonly tensor: Tensor;
  readonly varies: boolean;
}

/**
 * Computes all calls of a batch at once, as JAX's batching rules. At least one operand varies. The result has shape
 * `(batch, ...output.shape)`.
 */
export type Batch<P> = (inputs: readonly Batched[], batch: number, params: P, output: TensorSpec) => Tensor;

/** An operand with the batch as its first axis, whether it varies or not. */
export function alongBatch({ tensor, varies }: Batched, batch: number): Tensor {
  return varies ? tensor : tensor.expandDims(0).broadcastTo([batch, ...tensor.shape]);
}

/** The axis numbers of an element in the array of a batch. */
export function afterBatch(axes: readonly number[]): number[] {
  return axes.map((axis) => axis + 1);
}
