/** Golden numbers: arrays of float64 as JSON. */
import assert from "node:assert/strict";
import { type DType, type Tensor, tensor } from "../mod.ts";

/** An array of a fixture; null is a missing value. */
export interface Golden {
  shape: number[];
  data: (number | null)[];
}

/** A fixture's array as a tensor. */
export function read({ shape, data }: Golden, dtype: DType): Tensor {
  return tensor(Float64Array.from(data, (value) => value ?? NaN), { shape, dtype });
}

/** Fails where a value is further from the golden one than `tolerance` times the largest of the array, or than one. */
export async function assertClose(
  name: string,
  found: Tensor,
  expected: Golden,
  tolerance: number,
): Promise<void> {
  assert.deepEqual(found.shape, expected.shape, `${name}: shape`);
  const scale = expected.data.reduce<number>((largest, value) => Math.max(largest, Math.abs(value!)), 1);
  (await found.data()).forEach((value, i) => {
    const error = Math.abs(value - expected.data[i]!) / scale;
    assert.ok(
      error <= tolerance,
      `${name}, element ${i}: ${value}, expected ${expected.data[i]} (${error.toExponential(2)})`,
    );
  });
}

/** Fails where two tensors, or the gradients of a loss, differ by more than `tolerance` times the largest value. */
export async function assertAgree(
  name: string,
  found: readonly Tensor[],
  expected: readonly Tensor[],
  tolerance: number,
): Promise<void> {
  assert.equal(found.length, expected.length);
  for (const [i, x] of found.entries()) {
    assert.deepEqual(x.shape, expected[i].shape, `${name}, tensor ${i}: shape`);
    const difference = await x.sub(expected[i]).abs().max().div(expected[i].abs().max().maximum(1e-3)).item();
    assert.ok(difference <= tolerance, `${name}, tensor ${i}: ${difference}`);
  }
}
