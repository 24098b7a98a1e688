/** Golden values: arrays of float64 as JSON. */
import assert from "node:assert/strict";
import {
  arange,
  type DType,
  type ParameterTree,
  type Shape,
  type Tensor,
  tensor,
  treeFlatten,
} from "../mod.ts";

/**
 * An array of a fixture: its elements (null for a missing element), or the bytes of little-endian float64 in
 * base64. After `48:` the two lowest bytes of each number are omitted, with a relative error of up to 10^-11.
 * After `10:` each number is decimal in 48 bits, little-endian: 40 for the integer, one for the sign and
 * seven for the number of decimals.
 */
export interface Golden {
  shape: number[];
  data: (number | null)[] | string;
}

/** A fixture's array as a tensor. */
export function read(golden: Golden, dtype: DType): Tensor {
  return tensor(valuesOf(golden), { shape: golden.shape, dtype });
}

/** The elements of an array. NaN marks a missing element. */
export function valuesOf({ data }: Golden): Float64Array {
  if (typeof data !== "string") return Float64Array.from(data, (value) => value ?? NaN);
  if (data.startsWith("10:")) return decimals(bytesOf(data.slice(3)));
  if (!data.startsWith("48:")) return new Float64Array(bytesOf(data).buffer);
  const high = bytesOf(data.slice(3));
  const bytes = new Uint8Array(high.length / 6 * 8);
  for (let i = 0; i < high.length; i += 6) bytes.set(high.subarray(i, i + 6), i / 6 * 8 + 2);
  return new Float64Array(bytes.buffer);
}

/** The bytes of a text in base64. Node 22 lacks `Uint8Array.fromBase64`. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function decimals(bytes: Uint8Array): Float64Array {
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 6 }, (_, i) => {
    const integer = view.getUint32(6 * i, true) + 2 ** 32 * bytes[6 * i + 4];
    const rest = bytes[6 * i + 5];
    // Parsed as decimal, so that the result is the nearest float64.
    return Number(`${rest % 2 ? "-" : ""}${integer}e-${rest >> 1}`);
  });
}

/**
 * Fails if a value differs from the golden value by more than `tolerance` times the largest value of the
 * array, or times 1 if that is larger.
 */
export async function assertClose(
  name: string,
  found: Tensor,
  expected: Golden,
  tolerance: number,
): Promise<void> {
  assert.deepEqual(found.shape, expected.shape, `${name}: shape`);
  const values = valuesOf(expected);
  const scale = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1);
  (await found.data()).forEach((value, i) => {
    const error = Math.abs(value - values[i]) / scale;
    assert.ok(
      error <= tolerance,
      `${name}, element ${i}: ${value}, expected ${values[i]} (${error.toExponential(2)})`,
    );
  });
}

/**
 * Fails if two tensors, or the gradients of a loss, differ by more than `tolerance` times the largest value.
 */
export async function assertAgree(
  name: string,
  found: readonly Tensor[],
  expected: readonly Tensor[],
  tolerance: number,
): Promise<void> {
  assert.equal(found.length, expected.length);
  for (const [i, x] of found.entries()) {
    assert.deepEqual(x.shape, expected[i].shape, `${name}, tensor ${i}: shape`);
    const difference = await x.sub(expected[i]).abs().max().div(expected[i].abs().max().maximum(1e-3)).item();
    assert.ok(difference <= tolerance, `${name}, tensor ${i}: ${difference}`);
  }
}

/** Values that other implementations can reproduce: element e of tensor n is sin(1 + n + 0.7 e) / 2. */
export function wave(n: number, shape: Shape): Tensor {
  const size = shape.reduce((product, length) => product * length, 1);
  return arange(size, { dtype: "float64" }).mul(0.7).add(1 + n).sin().div(2).reshape(shape);
}

/** Sets the parameters of a float64 model, in their order, to the values of {@linkcode wave}. */
export function makeWaves<M extends { parameters: ParameterTree }>(model: M): M {
  treeFlatten(model.parameters).forEach(([_, x], n) => x.assign(wave(n, x.shape)));
  return model;
}
