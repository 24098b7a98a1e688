import type { BufferView, Device } from "../../device/device.ts";
import { add } from "../../device/scalar.ts";
import { allocateView, transposed } from "../../device/view.ts";

/**
 * The gradient of a weight: a matrix product over the rows of all samples and of many steps.
 *
 * @param left `(terms, rows)`.
 * @param right `(terms, columns)`.
 * @param before The same of other steps, which is added and freed.
 * @returns `(rows, columns)`.
 */
export function addProduct(
  device: Device,
  left: BufferView,
  right: BufferView,
  before?: BufferView,
): BufferView {
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
