/** Comparison with golden values. */
import assert from "node:assert/strict";
import type { Tensor } from "../../mod.ts";
import type { Device } from "../../src/device/device.ts";
import { type Golden, valuesOf } from "../golden.ts";

type Float = "float32" | "float64";

/** Largest error, relative to the value or to one. */
export const tolerance: Record<Float, number> = { float32: 1e-5, float64: 1e-10 };

/** The floating-point types that a device supports. */
export function typesOf(device: Device): Float[] {
  return device.info.kind === "cpu" ? ["float64", "float32"] : ["float32"];
}

/** Errors are relative to the value if it is larger than `scale`. */
export async function assertGolden(
  found: Tensor,
  expected: Golden,
  tolerance: number,
  name: string,
  scale = 1,
) {
  assert.deepEqual(found.shape, expected.shape, name);
  const values = valuesOf(expected);
  (await found.data()).forEach((value, i) => {
    const wanted = values[i];
    const error = Math.abs(value - wanted) / Math.max(scale, Math.abs(wanted));
    assert.ok(error <= tolerance, `${name}, element ${i}: ${value}, expected ${wanted}`);
  });
}

/** The largest absolute value. */
export function largest(golden: Golden): number {
  return Math.max(...valuesOf(golden).map(Math.abs));
}

/** Errors are relative to the values if they are larger than one; or to the largest value. */
export async function assertClose(
  found: Tensor,
  expected: ArrayLike<number>,
  tolerance: number,
  name: string,
  ofLargest = false,
) {
  const golden = { shape: [...found.shape], data: Array.from(expected) };
  assert.equal(found.size, expected.length, name);
  await assertGolden(found, golden, tolerance, name, ofLargest ? largest(golden) || 1 : 1);
}
