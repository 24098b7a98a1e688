import { describe } from "./describe.ts";

/** Element types of tensors. `float64` is only available on the CPU, because WGSL has no such type. */
export type DType = "float32" | "float64" | "int32" | "uint32" | "bool";

/** Host arrays of {@linkcode DType} elements. `bool` elements are 0 or 1 in a `Uint8Array`. */
export type TypedArray = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

/** @throws {TypeError} If `dtype` is not a {@linkcode DType}. */
export function checkDType(operation: string, dtype: DType): void {
  if (typeof dtype === "string" && Object.hasOwn(deviceArrays, dtype)) return;
  const valid = Object.keys(deviceArrays).join(", ");
  throw new TypeError(`${operation}: there is no dtype ${describe(dtype)}; valid: ${valid}`);
}

/**
 * Bytes of an element in device memory. A `bool` has four bytes, the smallest element of WGSL's storage
 * buffers.
 */
export function bytesPerElement(dtype: DType): 4 | 8 {
  return dtype === "float64" ? 8 : 4;
}

/** Whether the type is a floating-point type. Only these have gradients. */
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

/** The typed array with a device's words: as {@linkcode TypedArray}, but with `Uint32Array` for `bool`. */
export function deviceArray(dtype: DType): typeof deviceArrays[DType] {
  return deviceArrays[dtype];
}

/** Converts host values to device words. NaN becomes true in a bool, as in a cast. */
export function toDeviceArray(values: ArrayLike<number>, dtype: DType): TypedArray {
  if (dtype === "bool") return Uint32Array.from(values, (value) => Number(value) !== 0 ? 1 : 0);
  const Constructor = deviceArrays[dtype];
  // Faster than `from`, which iterates.
  return values instanceof Constructor ? values : new Constructor(values);
}

/** Converts device words to host values. */
export function toHostArray(words: TypedArray, dtype: DType): TypedArray {
  return dtype === "bool" ? Uint8Array.from(words) : words;
}

/**
 * Whether a type represents a number exactly, except for the rounding of floats. A bool represents any
 * nonzero number as true.
 */
export function isRepresentable(value: number, dtype: DType): boolean {
  if (dtype === "int32") return value === (value | 0);
  if (dtype === "uint32") return value === value >>> 0;
  return true;
}
