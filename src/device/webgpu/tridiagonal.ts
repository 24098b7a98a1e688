import tridiagonalSource from "../../../kernels/tridiagonal.wgsl" with { type: "text" };
import { sizeOf } from "../shape.ts";
import type { Gpu, Operand } from "./gpu.ts";
import { accessOf, type Binding, declare, storageType } from "./kernel.ts";

const arrays = ["lower", "diagonal", "upper", "rhs", "output"] as const;

/** Solves tridiagonal systems, (systems, n), whose bands may be shared by all systems, (1, n). */
export function tridiagonal(
  gpu: Gpu,
  lower: Operand,
  diagonal: Operand,
  upper: Operand,
  rhs: Operand,
  output: Operand,
): void {
  const [systems, n] = output.shape;
  if (sizeOf(output.shape) === 0) return;
  const scratch = gpu.temporary([n + 2, systems], output.dtype);
  const views = [lower, diagonal, upper, rhs, output];
  const run = (entryPoint: string, first: number, end: number) =>
    gpu.run({
      key: `tridiagonal ${entryPoint}`,
      source: () => {
        const type = storageType(output.dtype);
        const bindings: Binding[] = [
          ...arrays.map((name): Binding => ({
            name,
            type,
            access: name === "output" ? "read_write" : "read",
          })),
          { name: "scratch", type, access: "read_write" },
        ];
        const params = arrays.flatMap((name) => [`${name}_offset`, `${name}_system`, `${name}_step`]);
        const code = [
          declare(bindings, ["systems", "n", "first", "end", ...params]),
          `const invocations = ${gpu.profile.workgroup};`,
          tridiagonalSource,
        ].join("\n");
        return { name: "tridiagonalSolve", code, access: accessOf(bindings), entryPoint };
      },
      buffers: [...views, scratch].map((view) => view.memory),
      words: [
        ...[systems, n, first, end],
        ...views.flatMap((
          { shape, strides, offset },
        ) => [offset, shape[0] === 1 ? 0 : strides[0], strides[1]]),
      ],
      workgroups: [gpu.workgroupsFor(systems)],
      shapes: [rhs.shape],
    });
  const parts = [...gpu.parts(n, systems)];
  for (const [first, end] of parts) run("eliminate", first, end);
  for (const [first, end] of parts.toReversed()) run("substitute", first, end);
  gpu.pool.release(scratch.memory);
}
