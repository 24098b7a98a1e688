/** Products with long sums, computed as products of segments. */
import type { BufferView, KernelDevice } from "../../device.ts";
import { contiguousStrides } from "../../shape.ts";
import { allocateView } from "../../view.ts";
import type { ProductStrides } from "./native.ts";

/** The length of a segment is a multiple of this number, so that kernels run complete steps. */
const termsAtOnce = 32;

/** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
type Multiply = (a: BufferView, b: BufferView, output: BufferView) => void;

/**
 * (..., m, k) x (..., k, n) into a contiguous (..., m, n), as a sum of segments with at most `maxTerms`
 * terms. A reduction adds the segments in float64.
 *
 * @param strides Strides of the matrices. The leading axes have the strides of the views.
 */
export function multiplyInSegments(
  device: KernelDevice,
  multiply: Multiply,
  [a, b, output]: readonly [BufferView, BufferView, BufferView],
  [m, n, k]: readonly [number, number, number],
  { aRow, aDepth, bDepth, bColumn }: ProductStrides,
  maxTerms: number,
): void {
  const batch = output.shape.slice(0, -2);
  const length = termsAtOnce * Math.ceil(k / Math.ceil(k / maxTerms) / termsAtOnce);
  const whole = Math.floor(k / length);
  const rest = k - whole * length;
  const partial = allocateView(device, [whole + (rest > 0 ? 1 : 0), ...batch, m, n], output.dtype);
  const multiplyPart = (first: number, count: number, terms: number) => {
    const part = (view: BufferView, matrix: number[], depth: number, strides: number[]): BufferView => ({
      ...view,
      shape: [count, ...batch, ...matrix],
      strides: [length * depth, ...view.strides.slice(0, -2), ...strides],
      offset: view.offset + first * length * depth,
    });
    multiply(
      part(a, [m, terms], aDepth, [aRow, aDepth]),
      part(b, [terms, n], bDepth, [bDepth, bColumn]),
      { ...partial, shape: [count, ...batch, m, n], offset: first * partial.strides[0] },
    );
  };
  multiplyPart(0, whole, length);
  if (rest > 0) multiplyPart(whole, 1, rest);
  const shape = [1, ...batch, m, n];
  device.reduce("sum", partial, { ...output, shape, strides: contiguousStrides(shape) });
  partial.source.free();
}
