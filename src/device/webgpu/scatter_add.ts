import scatterSource from "../../../kernels/scatter_add.wgsl" with { type: "text" };
import sortSource from "../../../kernels/radix_sort.wgsl" with { type: "text" };
import { sizeOf } from "../shape.ts";
import { type Gpu, maxLoopLength, type MemoryView, workgroupSize } from "./gpu.ts";
import { type Binding, kernelSource, storageType } from "./kernel.ts";
import { cumulativeSum } from "./recurrence.ts";

/** Bits of a digit of the sort. */
const digitBits = 4;
/** Positions per invocation of the sort. */
const blockLength = 64;

/**
 * output[o, indices[i], :] += updates[o, i, :], in the order of i. The work is proportional to the number of updates, and to the
 * number of digits of an index. Atomic additions would need no sort, but their order would change from run to run.
 */
export function scatterAdd(gpu: Gpu, updates: MemoryView, indices: MemoryView, output: MemoryView): void {
  if (sizeOf(updates.shape) === 0 || sizeOf(output.shape) === 0) return;
  const [outer, size, inner] = output.shape;
  const count = indices.shape[0];
  const order = sortPositions(gpu, indices, size);
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
      workgroups: [gpu.workgroupsFor(outer * (end - first) * inner)],
      shapes: [updates.shape, indices.shape, output.shape],
    });
  }
  gpu.pool.release(order.memory);
}

const scatterParams = [
  ...["outer", "size", "inner", "count"],
  ...["input_offset", "indices_offset", "output_offset", "first", "end"],
];

/** The positions 0 to count - 1, sorted by their index; positions with the same index keep their order. */
function sortPositions(gpu: Gpu, indices: MemoryView, size: number): MemoryView {
  const count = indices.shape[0];
  const blocks = Math.ceil(count / blockLength);
  let [from, to] = [0, 1].map(() => gpu.temporary([count], "int32"));
  const [counts, ends] = [0, 1].map(() => gpu.temporary([2 ** digitBits * blocks], "int32"));
  // Indices out of range count as `size`.
  for (let shift = 0; shift === 0 || size >= 2 ** shift; shift += digitBits) {
    const run = (entryPoint: "count_digits" | "move_positions", table: MemoryView) =>
      gpu.run({
        key: entryPoint,
        source: () =>
          kernelSource(entryPoint, sortBindings, sortParams, [sortConstants, sortSource], entryPoint),
        buffers: [indices.memory, from.memory, table.memory, to.memory],
        words: [count, blocks, size, shift, shift === 0 ? 1 : 0, indices.offset],
        workgroups: [gpu.workgroupsFor(blocks)],
        shapes: [indices.shape],
      });
    run("count_digits", counts);
    cumulativeSum(gpu, counts, 0, ends);
    run("move_positions", ends);
    [from, to] = [to, from];
  }
  for (const { memory } of [to, counts, ends]) gpu.pool.release(memory);
  return from;
}

const sortParams = ["count", "blocks", "size", "shift", "is_first", "indices_offset"];
const sortBindings: readonly Binding[] = [
  { name: "indices", type: "i32", access: "read" },
  { name: "input", type: "i32", access: "read" },
  { name: "counts", type: "i32", access: "read_write" },
  { name: "output", type: "i32", access: "read_write" },
];
const sortConstants = `
const invocations = ${workgroupSize};
const block_length = ${blockLength}u;
const digits = ${2 ** digitBits}u;
`;
