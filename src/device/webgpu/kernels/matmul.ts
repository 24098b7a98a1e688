import matmulSource from "../../../../kernels/matmul.wgsl" with { type: "text" };
import { collapse } from "../../collapse.ts";
import { sizeOf } from "../../shape.ts";
import type { Gpu, MemoryView } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { type Plan, planProduct, tileCount, tileSize } from "./matmul_plan.ts";
import { joinSegments } from "./reduce.ts";
import { repeatLines } from "./repeat_lines.ts";
import { offsetsFunction, offsetsWords } from "./strided.ts";
import { occupiedOperations } from "../submission_budget.ts";

/** How a product is computed. */
interface ProductOptions {
  /** Default: the fastest plan for the shape and the GPU. */
  readonly plan?: Plan;
  /** Whether the product is added to `output`. */
  readonly adds?: boolean;
}

/** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
export function matmul(
  gpu: Gpu,
  a: MemoryView,
  b: MemoryView,
  output: MemoryView,
  { plan, adds = false }: ProductOptions = {},
): void {
  if (sizeOf(output.shape) === 0) return;
  const [m, n, k] = [output.shape.at(-2)!, output.shape.at(-1)!, a.shape.at(-1)!];
  const outer = (values: readonly number[]) => values.slice(0, -2);
  const batches = collapse(outer(output.shape), [outer(a.strides), outer(b.strides)]);
  const batch = sizeOf(batches.shape);
  const [[aRow, aStep], [bStep, bColumn]] = [a.strides.slice(-2), b.strides.slice(-2)];

  const shape = { batch, m, n, k };
  const chosen = plan ?? planProduct(shape, gpu.adapter.software);
  const { tiling, segments } = chosen;
  const tiles = tileCount(tiling, shape);
  const segment = Math.max(1, Math.ceil(k / segments));
  const target = segments === 1 && !adds ? output : gpu.temporary([segments, ...output.shape], output.dtype);

  const [aRowFirst, bStepFirst] = [Math.abs(aRow) < Math.abs(aStep), Math.abs(bStep) < Math.abs(bColumn)];
  const invocations = tiling.groupRows * tiling.groupColumns;
  const { rows, columns } = tileSize(tiling);
  for (let first = 0; first < tiles * segments; first += gpu.maxWorkgroups) {
    const workgroups = Math.min(gpu.maxWorkgroups, tiles * segments - first);
    gpu.dispatch({
      key: `matmul ${batches.shape.length} ${planKey(chosen)} ${aRowFirst} ${bStepFirst}`,
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
          `const a_row_first = ${aRowFirst};`,
          `const b_step_first = ${bStepFirst};`,
          tiledSource(chosen),
        ]);
      },
      buffers: [a.memory, b.memory, target.memory],
      words: [
        ...[batch, m, n, k, segment, aRow, aStep, bStep, bColumn, target.offset, first],
        ...offsetsWords(batches, [a.offset, b.offset]),
      ],
      workgroups,
      operations: occupiedOperations(2 * rows * columns * segment * workgroups, workgroups * invocations),
      shapes: [a.shape, b.shape],
    });
  }
  if (target !== output) joinSegments(gpu, "sum", target, output, adds);
}

function planKey({ tiling: { groupRows, groupColumns, rowVectors, columnVectors }, terms }: Plan): string {
  return `${groupRows} ${groupColumns} ${rowVectors} ${columnVectors} ${terms}`;
}

/** The source of the kernel for a plan. */
function tiledSource({ tiling, terms }: Plan): string {
  const { groupRows, groupColumns, rowVectors, columnVectors, depth } = tiling;
  const invocations = groupRows * groupColumns;
  return [
    `const group_rows = ${groupRows}u;`,
    `const group_columns = ${groupColumns}u;`,
    `const row_vectors = ${rowVectors}u;`,
    `const column_vectors = ${columnVectors}u;`,
    `const depth = ${depth}u;`,
    `const terms = ${terms}u;`,
    repeatLines(matmulSource, {
      a_load: Math.ceil(groupRows * rowVectors * depth / invocations),
      b_load: Math.ceil(groupColumns * columnVectors * depth / invocations),
      term: terms,
      row: rowVectors,
      part: 4,
      column: columnVectors,
    }),
  ].join("\n");
}
