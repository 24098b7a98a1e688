import indexingSource from "../../../kernels/indexing.wgsl" with { type: "text" };
import { sizeOf } from "../shape.ts";
import { type Gpu, type MemoryView, workgroupSize } from "./gpu.ts";
import { type Binding, kernelSource, storageType } from "./kernel.ts";
import { wordOf } from "./map.ts";

const params = [
  ...["outer", "size", "inner", "count"],
  ...["input_offset", "indices_offset", "output_offset", "outside", "first", "end"],
];

function index(
  gpu: Gpu,
  entryPoint: "gather" | "scatter_add",
  { table, input, indices, output }: {
    table: MemoryView;
    input: MemoryView;
    indices: MemoryView;
    output: MemoryView;
  },
): void {
  const total = sizeOf(output.shape);
  if (total === 0) return;
  const { dtype } = output;
  const [outer, size, inner] = table.shape;
  const outside = dtype === "float32" ? wordOf({ value: NaN, dtype }) : 0;
  // A gather looks an element up in one step.
  const steps = entryPoint === "gather" ? 1 : indices.shape[0];
  for (const [first, end] of gpu.parts(steps, total)) {
    gpu.run({
      key: `${entryPoint} ${dtype}`,
      source: () => {
        const type = storageType(dtype);
        const bindings: Binding[] = [
          { name: "input", type, access: "read" },
          { name: "indices", type: storageType("int32"), access: "read" },
          { name: "output", type, access: "read_write" },
        ];
        const constants = `alias Element = ${type};\nconst invocations = ${workgroupSize};`;
        return kernelSource(entryPoint, bindings, params, [constants, indexingSource], entryPoint);
      },
      buffers: [input.memory, indices.memory, output.memory],
      words: [
        outer,
        size,
        inner,
        indices.shape[0],
        input.offset,
        indices.offset,
        output.offset,
        outside,
        first,
        end,
      ],
      workgroups: [gpu.workgroupsFor(total)],
      shapes: [input.shape, indices.shape, output.shape],
    });
  }
}

/** output[o, i, :] = input[o, indices[i], :]; an index outside gives NaN, or zero for integers. */
export function gather(gpu: Gpu, input: MemoryView, indices: MemoryView, output: MemoryView): void {
  index(gpu, "gather", { table: input, input, indices, output });
}

/** output[o, indices[i], :] += updates[o, i, :], in the order of i. */
export function scatterAdd(gpu: Gpu, updates: MemoryView, indices: MemoryView, output: MemoryView): void {
  index(gpu, "scatter_add", { table: output, input: updates, indices, output });
}
