import matmulSource from "../../../kernels/matmul.wgsl" with { type: "text" };
import { collapse } from "../collapse.ts";
import { sizeOf } from "../shape.ts";
import type { Gpu, MemoryView } from "./gpu.ts";
import { type Binding, kernelSource, storageType } from "./kernel.ts";
import { joinSegments } from "./reduce.ts";
import { offsetsFunction, offsetsWords } from "./strided.ts";

/** Invocations of a workgroup. Each computes four rows and four columns. */
interface Tiling {
  readonly groupRows: number;
  readonly groupColumns: number;
}

/** Workgroup sizes, from the most arithmetic per byte read to the most workgroups. */
const tilings: readonly Tiling[] = [
  { groupRows: 16, groupColumns: 16 },
  { groupRows: 8, groupColumns: 8 },
];

/** Terms of the sum that are in workgroup memory at a time. */
const depth = 16;

/** Number of workgroups that occupy a GPU. */
const enoughWorkgroups = 256;

/** Maximum terms per invocation. */
const maxSegmentLength = 8192;

function tileCount({ groupRows, groupColumns }: Tiling, batch: number, m: number, n: number): number {
  return batch * Math.ceil(m / (4 * groupRows)) * Math.ceil(n / (4 * groupColumns));
}

/** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
export function matmul(gpu: Gpu, a: MemoryView, b: MemoryView, output: MemoryView): void {
  if (sizeOf(output.shape) === 0) return;
  const [m, n, k] = [output.shape.at(-2)!, output.shape.at(-1)!, a.shape.at(-1)!];
  const outer = (values: readonly number[]) => values.slice(0, -2);
  const batches = collapse(outer(output.shape), [outer(a.strides), outer(b.strides)]);
  const batch = sizeOf(batches.shape);
  const [[aRow, aStep], [bStep, bColumn]] = [a.strides.slice(-2), b.strides.slice(-2)];

  const tiling = tilings.find((tiling) => tileCount(tiling, batch, m, n) >= enoughWorkgroups) ??
    tilings.at(-1)!;
  const tiles = tileCount(tiling, batch, m, n);
  // A long sum with few tiles, as in the gradient of a weight, is split.
  const forSpeed = Math.min(Math.floor(enoughWorkgroups / tiles), Math.floor(k / (8 * depth)));
  const segments = Math.max(1, forSpeed, Math.ceil(k / maxSegmentLength));
  const segment = Math.max(1, Math.ceil(k / segments));
  const target = segments === 1 ? output : gpu.temporary([segments, ...output.shape], output.dtype);

  const [aRowFirst, bStepFirst] = [Math.abs(aRow) < Math.abs(aStep), Math.abs(bStep) < Math.abs(bColumn)];
  const { groupRows, groupColumns } = tiling;
  /** Multiply-adds of a tile. */
  const perTile = 16 * groupRows * groupColumns * segment;
  for (let first = 0; first < tiles * segments; first += gpu.maxWorkgroups) {
    const workgroups = Math.min(gpu.maxWorkgroups, tiles * segments - first);
    gpu.run({
      key: `matmul ${batches.shape.length} ${groupRows} ${groupColumns} ${aRowFirst} ${bStepFirst}`,
      source: () => {
        const matrices = offsetsFunction("matrices", batches.shape.length, 2);
        const bindings: Binding[] = [
          { name: "a", type: storageType(a.dtype), access: "read" },
          { name: "b", type: storageType(b.dtype), access: "read" },
          { name: "output", type: storageType(output.dtype), access: "read_write" },
        ];
        const params = ["batch", "m", "n", "k", "segment", "a_row", "a_step", "b_step", "b_column"];
        return kernelSource("matmul", bindings, [...params, "output_offset", "first", ...matrices.params], [
          matrices.code,
          `const group_rows = ${groupRows}u;`,
          `const group_columns = ${groupColumns}u;`,
          `const depth = ${depth}u;`,
          `const a_row_first = ${aRowFirst};`,
          `const b_step_first = ${bStepFirst};`,
          matmulSource,
        ]);
      },
      buffers: [a.memory, b.memory, target.memory],
      words: [
        ...[batch, m, n, k, segment, aRow, aStep, bStep, bColumn, target.offset, first],
        ...offsetsWords(batches, [a.offset, b.offset]),
      ],
      workgroups,
      operations: 2 * perTile * workgroups,
      shapes: [a.shape, b.shape],
    });
  }
  if (target !== output) joinSegments(gpu, "sum", target, output);
}
