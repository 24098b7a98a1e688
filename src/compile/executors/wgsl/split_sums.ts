/**
 * Splits long sums over invocations that would be idle. A sum becomes two kernels: the first computes partial sums, with the
 * parts as the first axis of its output, and the second adds the parts.
 */
import { input } from "../../../device/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Kernel, Operand, Program, ReduceKernel, Slot } from "../../program/program.ts";

/** A product or a reduction. `terms` is set if the first axis counts parts: part p has the terms p, p + parts, p + 2 parts ... */
export type SumKernel = (ContractKernel | ReduceKernel) & {
  /** Terms of all parts together. */
  readonly terms?: number;
};

/** Minimum terms of a part: shorter sums end sooner than the barrier before the second kernel. */
const minTerms = 8;

/** Splits the sums of a program. `lanesOf` is the number of invocations that share the elements of a kernel. */
export function splitSums(program: Program, lanesOf: (kernel: Kernel) => number): Program {
  const slots: Slot[] = [...program.slots];
  const kernels = program.kernels.flatMap((kernel): Kernel[] => {
    // The terms of a reduction over several axes may have no constant distance.
    if (kernel.kind !== "contract" && (kernel.kind !== "reduce" || kernel.axes.length > 1)) return [kernel];
    const { output, operands } = kernel;
    const axes = kernel.kind === "reduce" ? operands.map(() => kernel.axes[0]) : [-1, -2];
    const terms = operands[0].shape.at(axes[0])!;
    const parts = Math.min(Math.floor(lanesOf(kernel) / sizeOf(output.shape)), Math.floor(terms / minTerms));
    if (parts < 2) return [kernel];
    const shape = [parts, ...output.shape];
    const slot = slots.push({ size: sizeOf(shape), dtype: output.dtype, persistent: false }) - 1;
    const sums: Operand = { slot, dtype: output.dtype, shape, strides: contiguousStrides(shape), offset: 0 };
    const partial = {
      ...kernel,
      ...kernel.kind === "reduce" &&
        { axes: [kernel.axes[0] + 1], shape: withParts(kernel.shape, axes[0], parts) },
      operands: operands.map((operand, i) => partsOf(operand, axes[i], parts)),
      output: sums,
      terms,
    } as SumKernel;
    return [partial, {
      kind: "reduce",
      reduction: kernel.kind === "reduce" ? kernel.reduction : "sum",
      axes: [0],
      shape,
      expression: input(0, output.dtype),
      operands: [sums],
      output: { ...output, shape: [1, ...output.shape], strides: [0, ...output.strides] },
    }];
  });
  return { ...program, slots, kernels };
}

/** A view of an operand with the parts of an axis as the first axis. The last terms of some parts may be past the end. */
function partsOf(operand: Operand, axis: number, parts: number): Operand {
  const { shape, strides } = operand;
  const stride = strides.at(axis)!;
  return {
    ...operand,
    shape: withParts(shape, axis, parts),
    strides: [stride, ...strides.with(axis, stride * parts)],
  };
}

function withParts(shape: readonly number[], axis: number, parts: number): number[] {
  return [parts, ...shape.with(axis, Math.ceil(shape.at(axis)! / parts))];
}
