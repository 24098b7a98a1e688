import sortSource from "../../../kernels/sort.wgsl" with { type: "text" };
import type { DType } from "../dtype.ts";
import { type Gpu, type MemoryView, workgroupSize } from "./gpu.ts";
import { type Binding, kernelSource, storageType } from "./kernel.ts";

/** WGSL of a key that orders elements as unsigned numbers. NaN follows all numbers, and zeros of both signs are equal. */
function keyText(dtype: DType): string {
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
  return `fn key_of(value: ${type}) -> u32 {\n  ${body}\n}\n`;
}

const params = [
  ...["rows", "length", "width", "input_offset", "output_offset", "inverted", "block", "distance"],
];

/** See `DeviceKernels.argSort`. */
export function argSort(gpu: Gpu, input: MemoryView, descending: boolean, output: MemoryView): void {
  const [rows, length] = input.shape;
  if (rows * length === 0) return;
  let width = 1;
  while (width < length) width *= 2;
  const { dtype } = input;
  const order = gpu.temporary([rows, width], "uint32");
  const run = (entryPoint: string, invocations: number, block = 0, distance = 0) =>
    gpu.run({
      key: `sort ${entryPoint} ${dtype}`,
      source: () => {
        const bindings: Binding[] = [
          { name: "input", type: storageType(dtype), access: "read" },
          { name: "order", type: "u32", access: "read_write" },
          { name: "positions", type: "i32", access: "read_write" },
        ];
        const constants = `const invocations = ${workgroupSize};`;
        return kernelSource("sort", bindings, params, [constants, keyText(dtype), sortSource], entryPoint);
      },
      buffers: [input.memory, order.memory, output.memory],
      words: [
        ...[rows, length, width, input.offset, output.offset],
        ...[descending ? 0xffffffff : 0, block, distance],
      ],
      workgroups: [gpu.workgroupsFor(invocations)],
      shapes: [input.shape],
    });
  run("fill", rows * width);
  for (let block = 2; block <= width; block *= 2) {
    for (let distance = block / 2; distance >= 1; distance /= 2) {
      run("exchange", rows * width / 2, block, distance);
    }
  }
  run("finish", rows * length);
  gpu.pool.release(order.memory);
}
