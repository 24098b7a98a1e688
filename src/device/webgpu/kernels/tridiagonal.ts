import eliminationSource from "../../../../kernels/tridiagonal.wgsl" with { type: "text" };
import reductionSource from "../../../../kernels/cyclic_reduction.wgsl" with { type: "text" };
import { sizeOf } from "../../shape.ts";
import { type Gpu, maxLoopLength, type MemoryView, parallelism, workgroupSize } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { operationsPerWord } from "../submission_budget.ts";

const arrays = ["lower", "diagonal", "upper", "rhs", "output"] as const;

/**
 * Solves tridiagonal systems (systems, n).
 *
 * @param views lower, diagonal, upper, rhs and output. The bands can be shared by all systems: (1, n).
 */
export function tridiagonal(gpu: Gpu, views: readonly MemoryView[]): void {
  const [systems, n] = views[4].shape;
  if (sizeOf(views[4].shape) === 0) return;
  if (isReduced(systems, n, gpu.maxWorkgroups)) reduceCyclically(gpu, views);
  else eliminate(gpu, views);
}

/** Shorter systems, and systems that are numerous enough to occupy a GPU, are solved row by row. */
const [shortest, rowsPerSystem] = [256, 64];

/**
 * Whether systems are solved by cyclic reduction. It needs several times the operations of elimination, but
 * uses an invocation per row instead of per system, so that a few long systems occupy a GPU.
 */
export function isReduced(systems: number, n: number, maxWorkgroups: number): boolean {
  return n >= shortest && n < maxLoopLength && systems * rowsPerSystem <= parallelism &&
    systems * n <= workgroupSize * maxWorkgroups;
}

/** Words of a row that a kernel reads and writes: with cyclic reduction three rows of five words, and the result. */
const wordsPerRow = 20;

/** A kernel on the arrays of the systems and on temporary memory. */
function runner(gpu: Gpu, views: readonly MemoryView[], source: string, more: readonly Binding[]) {
  const [systems, n] = views[4].shape;
  const type = storageType(views[4].dtype);
  const bindings: Binding[] = [
    ...arrays.map((name): Binding => ({ name, type, access: name === "output" ? "read_write" : "read" })),
    ...more,
  ];
  return (
    entryPoint: string,
    others: readonly MemoryView[],
    invocations: number,
    range: readonly [first: number, end: number] = [0, n],
  ) =>
    gpu.run({
      key: `tridiagonal ${entryPoint}`,
      source: () => {
        const params = arrays.flatMap((name) => [`${name}_offset`, `${name}_system`, `${name}_step`]);
        const all = ["systems", "n", "first", "end", ...params];
        const pieces = [`const invocations = ${workgroupSize};`, source];
        return kernelSource("tridiagonalSolve", bindings, all, pieces, { entryPoint });
      },
      buffers: [...views, ...others].map((view) => view.memory),
      words: [
        ...[systems, n, ...range],
        ...views.flatMap((
          { shape, strides, offset },
        ) => [offset, shape[0] === 1 ? 0 : strides[0], strides[1]]),
      ],
      workgroups: gpu.workgroupsFor(invocations),
      operations: wordsPerRow * operationsPerWord * systems * (range[1] - range[0]),
      shapes: [views[3].shape],
    });
}

function eliminate(gpu: Gpu, views: readonly MemoryView[]): void {
  const { shape: [systems, n], dtype } = views[4];
  const scratch = gpu.temporary([n + 2, systems], dtype);
  const run = runner(gpu, views, eliminationSource, [
    { name: "scratch", type: storageType(dtype), access: "read_write" },
  ]);
  const parts = [...gpu.parts(n, systems)];
  for (const part of parts) run("eliminate", [scratch], systems, part);
  for (const part of parts.toReversed()) run("substitute", [scratch], systems, part);
  gpu.pool.release(scratch.memory);
}

function reduceCyclically(gpu: Gpu, views: readonly MemoryView[]): void {
  const [systems, n] = views[4].shape;
  const run = runner(gpu, views, reductionSource, [
    { name: "rows", type: "Row", access: "read" },
    { name: "next", type: "Row", access: "read_write" },
  ]);
  // Five words per row.
  let [next, rows] = [0, 1].map(() => gpu.temporary([systems, n, 5], "uint32"));
  run("begin", [rows, next], systems * n);
  for (let reach = 1; reach < n; reach *= 2) {
    [rows, next] = [next, rows];
    run("reduce", [rows, next], systems * n);
  }
  run("finish", [next, rows], systems * n);
  for (const { memory } of [rows, next]) gpu.pool.release(memory);
}
