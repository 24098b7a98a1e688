/** Creation and conversion of views. */
import { allocateBuffer } from "./memory/buffer.ts";
import type { BufferView, KernelDevice, View } from "./device.ts";
import { bytesPerElement, type DType, toDeviceArray } from "./dtype.ts";
import { identity } from "./scalar/scalar.ts";
import { contiguousStrides, isContiguous, sizeOf, swapLast } from "./shape.ts";

/** Allocates a contiguous row-major array. */
export function allocateView(device: KernelDevice, shape: readonly number[], dtype: DType): BufferView {
  const source = allocateBuffer(device, sizeOf(shape) * bytesPerElement(dtype));
  return { source, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
}

/** A view whose elements are all one number, without memory. */
export function numberView(source: number, shape: readonly number[], dtype: DType): View {
  return { source, dtype, shape, strides: shape.map(() => 0), offset: 0 };
}

/** Copies host values to a device, row-major. */
export function uploadView(
  device: KernelDevice,
  values: ArrayLike<number>,
  shape: readonly number[],
  dtype: DType,
): BufferView {
  const view = allocateView(device, shape, dtype);
  device.write(view.source, toDeviceArray(values, dtype));
  return view;
}

/** Exchanges the last two axes. */
export function transposed(view: BufferView): BufferView {
  return { ...view, shape: swapLast(view.shape), strides: swapLast(view.strides) };
}

/** Derives a view of some or all elements, with another shape or order. */
export function derived(view: View, changes: Pick<View, "shape" | "strides"> & Partial<View>): View {
  return { ...view, ...changes, isDerivedNumber: !hasBuffer(view) };
}

/** Whether several elements share one memory location. */
export function hasSharedElements({ shape, strides }: View): boolean {
  return !shape.includes(0) && strides.some((stride, axis) => stride === 0 && shape[axis] > 1);
}

export function hasBuffer(view: View): view is BufferView {
  return typeof view.source !== "number";
}

/** The same elements with a buffer: a view of a number is written to memory. */
export function materialize(device: KernelDevice, view: View): BufferView {
  return hasBuffer(view) ? view : copy(device, view);
}

/** The same elements, contiguous in row-major order. */
export function makeContiguous(device: KernelDevice, view: View): BufferView {
  return hasBuffer(view) && isContiguous(view.shape, view.strides) ? view : copy(device, view);
}

/** A contiguous row-major copy. */
export function copy(device: KernelDevice, view: View): BufferView {
  const output = allocateView(device, view.shape, view.dtype);
  device.map(identity, [view], output);
  return output;
}
