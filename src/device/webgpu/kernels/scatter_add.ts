import scatterSource from "../../../../kernels/scatter_add.wgsl" with { type: "text" };
import { sizeOf } from "../../shape.ts";
import { type Gpu, maxLoopLength, type MemoryView, workgroupSize } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { sortPositions } from "./radix_sort.ts";
import { operationsPerWord } from "../submission_budget.ts";

/** Indices out of range are sorted last, as the argument, which is the size. */
const indexKey =
  "fn key_of(position: u32) -> u32 { return min(u32(keys[params.keys_offset + position]), params.argument); }\n";

/**
 * output[o, indices[i], :] += updates[o, i, :], in the order of i. The work is proportional to the number of updates, and to the
 * number of digits of an index. Atomic additions would need no sort, but their order would change from run to run.
 */
export function scatterAdd(gpu: Gpu, updates: MemoryView, indices: MemoryView, output: MemoryView): void {
  if (sizeOf(updates.shape) === 0 || sizeOf(output.shape) === 0) return;
  const [outer, size, inner] = output.shape;
  const count = indices.shape[0];
  const order = gpu.temporary([count], "int32");
  sortPositions(
    gpu,
    count,
    [{ name: "index", view: indices, text: indexKey, argument: size, largest: size }],
    order,
  );
  const { dtype } = output;
  const perRun = Math.min(count, maxLoopLength);
  for (const [first, end] of gpu.parts(count, outer * perRun * inner)) {
    gpu.run({
      key: `scatterAdd ${dtype}`,
      source: () => {
        const type = storageType(dtype);
        const bindings: Binding[] = [
          { name: "input", type, access: "read" },
          { name: "indices", type: "i32", access: "read" },
          { name: "order", type: "i32", access: "read" },
          { name: "output", type, access: "read_write" },
        ];
        const constants = `alias Element = ${type};\nconst invocations = ${workgroupSize};`;
        return kernelSource("scatterAdd", bindings, scatterParams, [constants, scatterSource]);
      },
      buffers: [updates.memory, indices.memory, order.memory, output.memory],
      words: [outer, size, inner, count, updates.offset, indices.offset, output.offset, first, end],
      workgroups: gpu.workgroupsFor(outer * (end - first) * inner),
      // An update, its position, two indices, and an element that is read and written.
      operations: 6 * operationsPerWord * outer * (end - first) * inner,
      shapes: [updates.shape, indices.shape, output.shape],
    });
  }
  gpu.pool.release(order.memory);
}

const scatterParams = [
  ...["outer", "size", "inner", "count"],
  ...["input_offset", "indices_offset", "output_offset", "first", "end"],
];
