/** Sorting on the host: one thread sorts all rows. */
import type { BufferView, KernelDevice } from "../../device.ts";
import { bytesPerElement, type DType } from "../../dtype.ts";
import { addressOf } from "../assembler/address.ts";
import type { Memory } from "../runtime/memory.ts";

/** Rows up to this length are sorted by insertion. */
const shortRow = 32;

/**
 * See `DeviceKernels.argSort`. Long rows are sorted by digits of eight bits, from the lowest. (Knuth, "The Art of Computer
 * Programming", volume 3, section 5.2.5.)
 */
export function argSort(
  device: KernelDevice,
  memory: Memory,
  input: BufferView,
  descending: boolean,
  output: BufferView,
): void {
  const [[rows, length], { dtype }] = [input.shape, input];
  const words = bytesPerElement(dtype) / 4;
  const [from, to] = [addressOf(input) / bytesPerElement(dtype), addressOf(output) / 4];
  device.runOnHost(() => {
    const [values, bits] = [memory.wordsOf(dtype), memory.u32];
    const keys = Array.from({ length: words }, () => new Uint32Array(length));
    const [order, spare] = [new Int32Array(length), new Int32Array(length)];
    for (let row = 0; row < rows; row++) {
      const start = from + row * length;
      for (let i = 0; i < length; i++) {
        order[i] = i;
        writeKey(keys, i, values[start + i], bits, words * (start + i), dtype, descending ? -1 : 0);
      }
      const sorted = length <= shortRow ? sortByInsertion(keys, order) : sortByDigits(keys, order, spare);
      memory.i32.set(sorted, to + row * length);
    }
  });
}

/** Writes words, the lowest first, that order an element among unsigned numbers. NaN follows all numbers. */
function writeKey(
  keys: readonly Uint32Array[],
  i: number,
  value: number,
  bits: Uint32Array,
  offset: number,
  dtype: DType,
  inverted: number,
): void {
  const isFloat = dtype === "float32" || dtype === "float64";
  const top = keys.length - 1;
  const sign = bits[offset + top] >>> 31;
  for (let word = 0; word <= top; word++) {
    // Zeros of both signs are equal.
    let key = isFloat && value === 0 ? 0 : bits[offset + word];
    if (value !== value) key = -1;
    else if (isFloat && sign === 1 && value !== 0) key = ~key;
    else if (word === top && (isFloat || dtype === "int32")) key ^= 0x80000000;
    keys[word][i] = key ^ inverted;
  }
}

function sortByInsertion(keys: readonly Uint32Array[], order: Int32Array): Int32Array {
  const isAfter = (a: number, b: number) => {
    for (let word = keys.length - 1; word >= 0; word--) {
      const [first, second] = [keys[word][a], keys[word][b]];
      if (first !== second) return first > second;
    }
    return false;
  };
  for (let i = 1; i < order.length; i++) {
    const position = order[i];
    let target = i;
    for (; target > 0 && isAfter(order[target - 1], position); target--) order[target] = order[target - 1];
    order[target] = position;
  }
  return order;
}

function sortByDigits(keys: readonly Uint32Array[], order: Int32Array, spare: Int32Array): Int32Array {
  let [from, to] = [order, spare];
  const offsets = new Uint32Array(256);
  for (const key of keys) {
    for (let shift = 0; shift < 32; shift += 8) {
      offsets.fill(0);
      for (let i = 0; i < key.length; i++) offsets[key[i] >>> shift & 255]++;
      // All elements have the same digit.
      if (offsets[key[0] >>> shift & 255] === key.length) continue;
      for (let digit = 0, sum = 0; digit < 256; digit++) [offsets[digit], sum] = [sum, sum + offsets[digit]];
      for (let i = 0; i < from.length; i++) to[offsets[key[from[i]] >>> shift & 255]++] = from[i];
      [from, to] = [to, from];
    }
  }
  return from;
}
