import type { BufferView, KernelDevice } from "../../device/device.ts";
import { add } from "../../device/scalar/scalar.ts";
import { allocateView, transposed } from "../../device/view.ts";

/**
 * Adds the matrix product of the rows of all samples and of many steps to a weight gradient.
 *
 * @param left `(terms, rows)`.
 * @param right `(terms, columns)`.
 * @param before The weight gradient of other steps. It is added, and freed unless it is the result.
 * @returns `(rows, columns)`.
 */
export function addProduct(
  device: KernelDevice,
  left: BufferView,
  right: BufferView,
  before?: BufferView,
): BufferView {
  if (before && device.addMatmul) {
    device.addMatmul(transposed(left), right, before);
    return before;
  }
  const shape = [left.shape[1], right.shape[1]];
  const product = allocateView(device, shape, left.dtype);
  device.matmul(transposed(left), right, product);
  if (!before) return product;
  const sum = allocateView(device, shape, left.dtype);
  device.map({ name: "add", build: add }, [before, product], sum);
  before.source.free();
  product.source.free();
  return sum;
}
