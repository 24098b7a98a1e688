import type { CpuDevice } from "../../src/device/cpu/device.ts";
import type { BufferView } from "../../src/device/device.ts";
import { sizeOf } from "../../src/device/shape.ts";
import type { Gpu, MemoryView } from "../../src/device/webgpu/gpu.ts";
import { matmul } from "../../src/device/webgpu/kernels/matmul.ts";
import type { Plan } from "../../src/device/webgpu/kernels/matmul_plan.ts";
import { type Random, randomView, wordsOf } from "./random_views.ts";

/** The product of two views of the CPU device, computed by a GPU with a plan. */
export async function product(gpu: Gpu, a: BufferView, b: BufferView, plan: Plan): Promise<Float32Array> {
  const upload = (view: BufferView): MemoryView => {
    const words = Float32Array.from(wordsOf(view, view.source.device as CpuDevice));
    const { memory } = gpu.temporary([words.length], "float32");
    gpu.commands.write(memory, new Uint8Array(words.buffer));
    return { ...view, memory };
  };
  const output = gpu.temporary([...a.shape.slice(0, -1), b.shape.at(-1)!], "float32");
  const operands = [upload(a), upload(b)];
  matmul(gpu, operands[0], operands[1], output, { plan });
  const size = 4 * sizeOf(output.shape);
  const [bytes] = await gpu.commands.read([{ memory: output.memory, offset: 0, size }]);
  for (const { memory } of [...operands, output]) gpu.pool.release(memory);
  return new Float32Array(bytes);
}

/** A matrix, in memory row by row or column by column. */
export function matrix(random: Random, rows: number, columns: number, order: string): BufferView {
  const view = randomView(random, [rows, columns], "float32", true);
  return { ...view, offset: 0, strides: order === "rows" ? [columns, 1] : [1, rows] };
}
