import assert from "node:assert/strict";
import type { BufferView } from "../../src/device/device.ts";
import { sizeOf } from "../../src/device/shape.ts";
import { valuesOf } from "./random_views.ts";

/**
 * Compares a product with a naive product, summed in float64.
 *
 * @param found The elements of the product, row-major.
 * @param tolerance Maximum error, relative to the sum of the sizes of the terms.
 */
export function assertProduct(
  a: BufferView,
  b: BufferView,
  found: ArrayLike<number>,
  tolerance: number,
  text = "",
): void {
  const [m, n, k] = [a.shape.at(-2)!, b.shape.at(-1)!, a.shape.at(-1)!];
  const [x, y] = [a, b].map((view) => valuesOf(view));
  assert.equal(found.length, sizeOf(a.shape.slice(0, -1)) * n);
  for (let row = 0; row < found.length / n; row++) {
    const batch = Math.floor(row / m);
    const [sums, sizes] = [new Float64Array(n), new Float64Array(n)];
    for (let p = 0; p < k; p++) {
      for (let j = 0; j < n; j++) {
        const term = x[row * k + p] * y[(batch * k + p) * n + j];
        sums[j] += term;
        sizes[j] += Math.abs(term);
      }
    }
    sums.forEach((sum, j) => {
      const value = found[row * n + j];
      if (Math.abs(value - sum) <= tolerance * sizes[j]) return;
      assert.fail(
        `(${a.shape}) x (${b.shape}) [${a.strides}] [${b.strides}]${text}, row ${row}, column ${j}: ${value}, expected ${sum}`,
      );
    });
  }
}
