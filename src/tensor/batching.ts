/** Batching rules of primitives. */
import { apply, type Batched, type Primitive, type TensorSpec } from "./primitive.ts";
import type { Tensor } from "./tensor.ts";

/** An operand with the batch as its first axis, whether it varies or not. */
export function alongBatch({ tensor, varies }: Batched, batch: number): Tensor {
  return varies ? tensor : tensor.expandDims(0).broadcastTo([batch, ...tensor.shape]);
}

/** The axes of one member of a batch, as axes of the batch array, whose first axis is the batch. */
export function afterBatch(axes: readonly number[]): number[] {
  return axes.map((axis) => axis + 1);
}

/**
 * Applies a primitive to all members of a batch at once, by its batching rule.
 *
 * @param inputs At least one of them varies.
 * @param output Shape and type of the result of one member.
 * @param fail Makes the error for a primitive without a batching rule.
 * @returns Tensor of shape `(batch, ...output.shape)`.
 */
export function applyToBatch<P>(
  primitive: Primitive<P>,
  inputs: readonly Batched[],
  size: number,
  params: P,
  { shape, dtype }: TensorSpec,
  fail: (message: string) => Error,
): Tensor {
  const { name, batch } = primitive;
  if (batch === "elementwise") {
    return apply(primitive, inputs.map((input) => alongBatch(input, size)), params);
  }
  if (typeof batch !== "function") throw fail(`${name} has no batching rule: ${batch.none}`);
  return batch(inputs, size, params, { shape, dtype });
}
