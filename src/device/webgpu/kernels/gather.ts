import source from "../../../../kernels/gather.wgsl" with { type: "text" };
import { sizeOf } from "../../shape.ts";
import { type Gpu, type MemoryView, workgroupSize } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { wordOf } from "./map.ts";
import { operationsPerWord } from "../submission_budget.ts";

const params = [
  "outer",
  "size",
  "inner",
  "count",
  "input_offset",
  "indices_offset",
  "output_offset",
  "outside",
];

/** output[o, i, :] = input[o, indices[i], :]. An index out of range gives NaN, or zero for integers. */
export function gather(gpu: Gpu, input: MemoryView, indices: MemoryView, output: MemoryView): void {
  const total = sizeOf(output.shape);
  if (total === 0) return;
  const { dtype } = output;
  const outside = dtype === "float32" ? wordOf({ value: NaN, dtype }) : 0;
  gpu.run({
    key: `gather ${dtype}`,
    source: () => {
      const type = storageType(dtype);
      const bindings: Binding[] = [
        { name: "input", type, access: "read" },
        { name: "indices", type: "i32", access: "read" },
        { name: "output", type, access: "read_write" },
      ];
      const constants = `alias Element = ${type};\nconst invocations = ${workgroupSize};`;
      return kernelSource("gather", bindings, params, [constants, source], { entryPoint: "gather" });
    },
    buffers: [input.memory, indices.memory, output.memory],
    words: [...input.shape, indices.shape[0], input.offset, indices.offset, output.offset, outside],
    workgroups: gpu.workgroupsFor(total),
    // An element, its index and the result.
    operations: 3 * operationsPerWord * total,
    shapes: [input.shape, indices.shape, output.shape],
  });
}
