/** Views with random memory layout on the CPU device, and their elements read by naive loops. */
import { allocateBuffer } from "../../src/device/memory/buffer.ts";
import type { BufferView, View } from "../../src/device/device.ts";
import { bytesPerElement, type DType } from "../../src/device/dtype.ts";
import { type CpuDevice, createCpuDevice } from "../../src/device/cpu/device.ts";
import type { Block } from "../../src/device/cpu/runtime/memory.ts";

/** A device that runs all tested kernels. */
export const device: CpuDevice = createCpuDevice({ threads: 1 });

/** Repeatable random numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export type Random = () => number;
export const below = (random: Random, n: number) => Math.floor(random() * n);
export const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)];

/** The words of a buffer as elements of a view's type. */
export function wordsOf(view: BufferView, on = device) {
  const { memory } = on;
  const words = view.dtype === "float32"
    ? memory.f32
    : view.dtype === "float64"
    ? memory.f64
    : view.dtype === "int32"
    ? memory.i32
    : memory.u32;
  const start = (view.source.memory as Block).address / bytesPerElement(view.dtype);
  return words.subarray(start, start + view.source.byteLength / bytesPerElement(view.dtype));
}

/** The positions of the elements in the buffer, in row-major order. */
export function positionsOf({ shape, strides, offset }: View): number[] {
  let positions = [offset];
  for (const [axis, length] of shape.entries()) {
    const starts = positions;
    positions = new Array(starts.length * length);
    for (let i = 0; i < positions.length; i++) {
      positions[i] = starts[Math.floor(i / length)] + i % length * strides[axis];
    }
  }
  return positions;
}

export function valuesOf(view: View, on = device): number[] {
  const positions = positionsOf(view);
  if (typeof view.source === "number") return positions.map(() => view.source as number);
  const words = wordsOf(view as BufferView, on);
  return positions.map((position) => words[position]);
}

/** A value that its type holds exactly. */
export function randomValue(random: Random, dtype: DType): number {
  switch (dtype) {
    case "float32":
      return Math.fround(random() * 8 - 4);
    case "float64":
      return random() * 8 - 4;
    case "int32":
      return below(random, 2 ** 32) - 2 ** 31;
    case "uint32":
      return below(random, 2 ** 32);
    case "bool":
      return below(random, 2);
  }
}

/** A view of new memory whose axes are permuted, reversed, strided and, for inputs, repeated. */
export function randomView(
  random: Random,
  shape: readonly number[],
  dtype: DType,
  isOutput: boolean,
): BufferView {
  const order = shape.map((_, axis) => axis);
  if (random() < 0.4) order.sort(() => random() - 0.5);
  const strides = shape.map(() => 0);
  let extent = 1, offset = 0;
  for (const axis of order.toReversed()) {
    if (!isOutput && random() < 0.2) continue; // Repeated.
    const step = random() < 0.25 ? 2 + below(random, 2) : 1;
    strides[axis] = extent * step;
    extent *= Math.max(1, shape[axis]) * step;
    if (random() < 0.2 && shape[axis] > 0) {
      offset += strides[axis] * (shape[axis] - 1);
      strides[axis] *= -1;
    }
  }
  const lead = random() < 0.5 ? below(random, 5) : 0;
  const source = allocateBuffer(device, (extent + lead + 3) * bytesPerElement(dtype));
  const view = { source, dtype, shape, strides, offset: offset + lead };
  const words = wordsOf(view);
  for (let i = 0; i < words.length; i++) words[i] = randomValue(random, dtype);
  return view;
}

export function randomShape(random: Random): number[] {
  const lengths = [1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 70];
  return Array.from(
    { length: below(random, 5) },
    (_, i) => i < 2 ? pick(random, lengths) : 1 + below(random, 5),
  );
}

export const fround = Math.fround;
export const f32: DType = "float32", f64: DType = "float64", i32: DType = "int32", u32: DType = "uint32";
export const floats: readonly DType[] = [f32, f64];
export const numeric: readonly DType[] = [f32, f64, i32, u32];
