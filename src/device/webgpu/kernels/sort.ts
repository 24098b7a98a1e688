import type { DType } from "../../dtype.ts";
import type { Gpu, MemoryView } from "../gpu.ts";
import { storageType } from "../kernel.ts";
import { sortPositions } from "./radix_sort.ts";

/**
 * WGSL of a key that orders elements as unsigned numbers. NaN follows all numbers, and zeros of both signs are equal. The
 * argument has all bits for a descending order, else it is zero.
 */
function elementKey(dtype: DType): string {
  const type = storageType(dtype);
  const body = type === "u32"
    ? "return value;"
    : type === "i32"
    ? "return bitcast<u32>(value) ^ 0x80000000u;"
    : `let bits = bitcast<u32>(value);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return 0xffffffffu; }
  if (magnitude == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, bits != magnitude);`;
  return `fn bits_of(value: ${type}) -> u32 {\n  ${body}\n}
fn key_of(position: u32) -> u32 { return bits_of(keys[params.keys_offset + position]) ^ params.argument; }
`;
}

/** The argument is the length of a row. */
const rowKey = "fn key_of(position: u32) -> u32 { return position / params.argument; }\n";

/** See `DeviceKernels.argSort`. All rows are sorted at once: by their elements, then by their rows. */
export function argSort(gpu: Gpu, input: MemoryView, descending: boolean, output: MemoryView): void {
  const [rows, length] = input.shape;
  if (rows * length === 0) return;
  const largest = 0xffffffff;
  const elements = {
    name: `element ${input.dtype}`,
    view: input,
    text: elementKey(input.dtype),
    argument: descending ? largest : 0,
    largest,
  };
  const row = { ...elements, name: `row ${input.dtype}`, text: rowKey, argument: length, largest: rows - 1 };
  sortPositions(gpu, rows * length, [elements, row], output, length);
}
