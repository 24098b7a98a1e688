import { describe } from "./describe.ts";

/** The types of a tensor's elements. `float64` lives on the CPU only: WGSL has no such type. */
export type DType = "float32" | "float64" | "int32" | "uint32" | "bool";

/** Host arrays of {@linkcode DType} elements; a `bool` is 0 or 1 in a `Uint8Array`. */
export type TypedArray = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

/** Refuses what is no {@linkcode DType}. */
export function checkDType(operation: string, dtype: DType): void {
  if (typeof dtype === "string" && Object.hasOwn(deviceArrays, dtype)) return;
  const known = Object.keys(deviceArrays).join(", ");
  throw new TypeError(`${operation}: there is no dtype ${describe(dtype)}; valid: ${known}`);
}

/** Bytes an element takes in a device's memory. A `bool` takes a word, as WGSL's storage buffers hold nothing smaller. */
export function bytesPerElement(dtype: DType): 4 | 8 {
  return dtype === "float64" ? 8 : 4;
}

/** Whether the type is a floating point one, the only ones that gradients flow through. */
export function isFloat(dtype: DType): boolean {
  return dtype === "float32" || dtype === "float64";
}

const deviceArrays = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  bool: Uint32Array,
};

/** The typed array that mirrors a device's memory word for word: as {@linkcode TypedArray}, but a `bool` is a word. */
export function deviceArray(dtype: DType): typeof deviceArrays[DType] {
  return deviceArrays[dtype];
}

/** Host values as device words. As in a cast, NaN is a bool's true. */
export function toDeviceArray(values: ArrayLike<number>, dtype: DType): TypedArray {
  if (dtype === "bool") return Uint32Array.from(values, (value) => Number(value) !== 0 ? 1 : 0);
  const Constructor = deviceArrays[dtype];
  return values instanceof Constructor ? values : Constructor.from(values);
}

/** Device words as host values. */
export function toHostArray(words: TypedArray, dtype: DType): TypedArray {
  return dtype === "bool" ? Uint8Array.from(words) : words;
}

/** Whether a type holds a number as it is; floats round, and anything but zero is a bool's true. */
export function isRepresentable(value: number, dtype: DType): boolean {
  if (dtype === "int32") return value === (value | 0);
  if (dtype === "uint32") return value === value >>> 0;
  return true;
}
