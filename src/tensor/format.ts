import { largest, smallest } from "../device/min_max.ts";
import { isCapturing } from "../device/capture.ts";
import { contiguousStrides, formatShape, type Shape, sizeOf } from "../device/shape.ts";
import { hasBuffer, makeContiguous } from "../device/view.ts";
import { toHostArray, type TypedArray } from "../device/dtype.ts";
import { Symbolic } from "./symbolic.ts";
import type { NestedNumbers, Tensor } from "./tensor.ts";

/** Number of elements above which arrays are abbreviated, as by NumPy. */
const abbreviateAbove = 1000;
/** Elements shown at each end of an abbreviated axis. */
const edge = 3;

/**
 * Text such as `float32 (2, 3) on cpu`, and the values.
 *
 * @param read The values, if they were read; by default those that the host can read without waiting.
 */
export function formatTensor(x: Tensor, read?: TypedArray): string {
  const head = `Tensor ${x.dtype} ${formatShape(x.shape)}`;
  if (x.storage instanceof Symbolic) return `${head} in a trace`;
  const values = read ?? hostValues(x);
  const place = `${head} on ${x.device.info.kind}`;
  return values ? `${place}\n${formatValues(values, x)}` : place;
}

/**
 * The text of a tensor if JavaScript converts it to a primitive value, as in template strings.
 *
 * @throws {TypeError} For operators such as `+`, which would compute with the text.
 */
export function textForHint(x: Tensor, hint: string): string {
  if (hint === "string") return x.toString();
  throw new TypeError(
    "Tensor: operators do not compute with tensors; use methods, as x.add(1), x.mul(2) and x.greater(0), or `${x}` for a text",
  );
}

function hostValues(x: Tensor): TypedArray | undefined {
  const { view, memoryDevice: device, dtype } = x;
  if (!hasBuffer(view)) return toHostArray(new Float64Array(x.size).fill(view.source as number), dtype);
  if (view.source.freed || isCapturing()) return undefined;
  const words = device.readSync?.(makeContiguous(device, view));
  return words && toHostArray(words, dtype);
}

/** The indices shown of each axis, and `"..."` for the others of a long axis of a large array. */
export function shownIndices(shape: Shape): (number | "...")[][] {
  return shape.map((length) => {
    const all = Array.from({ length }, (_, i) => i);
    return sizeOf(shape) <= abbreviateAbove || length <= 2 * edge
      ? all
      : [...all.slice(0, edge), "...", ...all.slice(-edge)];
  });
}

/** Returns a function that formats an element. All elements get the width and the decimals that the printed elements need. */
export function formatterOf(values: TypedArray, { shape, dtype }: Tensor): (value: number) => string {
  const strides = contiguousStrides(shape);
  const indices = shownIndices(shape);
  const shown = (axis: number, offset: number): number[] =>
    axis === shape.length
      ? [values[offset]]
      : indices[axis].flatMap((i) => i === "..." ? [] : shown(axis + 1, offset + i * strides[axis]));
  return elementFormatter(shown(0, 0), dtype);
}

function formatValues(values: TypedArray, x: Tensor): string {
  const { shape } = x;
  const strides = contiguousStrides(shape);
  const indices = shownIndices(shape);
  const format = formatterOf(values, x);
  const write = (axis: number, offset: number): string => {
    if (axis === shape.length) return format(values[offset]);
    const separator = axis === shape.length - 1
      ? ", "
      : ",\n" + "\n".repeat(shape.length - axis - 2) + " ".repeat(axis + 1);
    return `[${
      indices[axis].map((i) => i === "..." ? i : write(axis + 1, offset + i * strides[axis])).join(separator)
    }]`;
  };
  return write(0, 0);
}

/** Formats all elements with the same width and number of decimals, or with exponents if magnitudes differ much. */
function elementFormatter(shown: readonly number[], dtype: string): (value: number) => string {
  if (dtype === "bool") return (value) => value ? " true" : "false";
  const magnitudes = shown.filter((value) => Number.isFinite(value) && value !== 0).map(Math.abs);
  const [high, low] = [Math.max(0, largest(magnitudes)), smallest(magnitudes)];
  const text = (value: number) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
    if (!dtype.startsWith("float")) return `${value}`;
    if (high >= 1e8 || low < 1e-4 && high > 0) return value.toExponential(4);
    return value.toFixed(shown.every(Number.isInteger) ? 1 : 4);
  };
  const width = Math.max(0, largest(shown.map((value) => text(value).length)));
  return (value) => text(value).padStart(width);
}

/** Numbers nested to a shape. */
export function nest(values: TypedArray, [length, ...rest]: Shape): NestedNumbers {
  if (length === undefined) return values[0];
  const stride = sizeOf(rest);
  return Array.from({ length }, (_, i) => nest(values.subarray(i * stride, (i + 1) * stride), rest));
}
