/** Batching rules of primitives. */
import type { Batched } from "./primitive.ts";
import type { Tensor } from "./tensor.ts";

/** An operand with the batch as its first axis, whether it varies or not. */
export function alongBatch({ tensor, varies }: Batched, batch: number): Tensor {
  return varies ? tensor : tensor.expandDims(0).broadcastTo([batch, ...tensor.shape]);
}

/** The axis numbers of an element in the array of a batch. */
export function afterBatch(axes: readonly number[]): number[] {
  return axes.map((axis) => axis + 1);
}
