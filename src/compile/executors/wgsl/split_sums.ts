/**
 * Splits long sums over invocations that would be idle. A sum becomes two kernels: the first computes partial sums, with the
 * parts as the first axis of its output, and the second adds the parts.
 */
import { input } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Kernel, Operand, Program, ReduceKernel, Slot } from "../../program/program.ts";
import { type Blocks, unitOf } from "./block_size.ts";
import { roundUp } from "./buffer_groups.ts";
import { maxSharing, type WorkgroupShape } from "./choose_workgroup.ts";
import { groupSize, type SumOperand } from "./packed_weights.ts";

/**
 * A product or a reduction. `terms` is set if the first axis counts parts. Of a reduction, part p has the terms p, p + parts,
 * p + 2 parts ... Of a product, each part has consecutive terms, and the last part may have fewer than the others.
 */
export type SumKernel = (ContractKernel | ReduceKernel) & {
  /** Terms of all parts together. */
  readonly terms?: number;
};

/** Minimum terms that an invocation adds of a part: shorter sums end sooner than the barrier before the second kernel. */
const minTerms = { reduce: 8, contract: 24 };

/**
 * Maximum number of parts of a sum.
 *
 * @param samples Samples of an invocation.
 */
function maxParts(kind: SumKernel["kind"], terms: number, samples: number): number {
  return Math.max(1, Math.floor(terms * samples / minTerms[kind]));
}

/**
 * Whether invocations compute a product for all samples of a workgroup, so that they read each weight once. Otherwise the
 * samples have separate invocations. These are faster if all outputs and parts of their sums would use few invocations.
 */
export function sharesWeights(
  { operands, output, terms }: ContractKernel & SumKernel,
  { samples, lanes }: WorkgroupShape,
): boolean {
  const areShared = operands.slice(0, 2).map(({ slot }) => slot === undefined);
  if (lanes === 1 || samples === 1 || samples > maxSharing || areShared[0] === areShared[1]) return false;
  const outputs = sizeOf(output.shape) / (terms === undefined ? 1 : output.shape[0]);
  return 2 * outputs * maxParts("contract", terms ?? operands[0].shape.at(-1)!, samples) >= samples * lanes;
}

/** Splits the sums of a program. */
export function splitSums(program: Program, workgroup: Blocks): Program {
  const slots: Slot[] = [...program.slots];
  const kernels = program.kernels.flatMap((kernel): Kernel[] => {
    // The terms of a reduction over several axes may have no constant distance.
    if (kernel.kind !== "contract" && (kernel.kind !== "reduce" || kernel.axes.length > 1)) return [kernel];
    const { output, operands } = kernel;
    const isForAllSamples = kernel.kind === "contract" && sharesWeights(kernel, workgroup);
    const samples = isForAllSamples ? workgroup.samples : 1;
    const invocations = workgroup.lanes * samples;
    const axes = kernel.kind === "reduce" ? operands.map(() => kernel.axes[0]) : [-1, -2];
    const terms = operands[0].shape.at(axes[0])!;
    const most = Math.min(
      Math.floor(invocations / sizeOf(output.shape)),
      maxParts(kernel.kind, terms, samples),
    );
    if (most < 2) return [kernel];
    // Parts of products begin at the beginning of a block.
    const length = kernel.kind === "reduce"
      ? Math.ceil(terms / most)
      : roundUp(Math.ceil(terms / most), unitOf(workgroup.block));
    const parts = kernel.kind === "reduce" ? most : Math.ceil(terms / length);
    if (parts < 2) return [kernel];
    const shape = [parts, ...output.shape];
    const slot = slots.push({ size: sizeOf(shape), dtype: output.dtype, persistent: false }) - 1;
    const sums: Operand = { slot, dtype: output.dtype, shape, strides: contiguousStrides(shape), offset: 0 };
    const partial = {
      ...kernel,
      ...kernel.kind === "reduce" &&
        { axes: [kernel.axes[0] + 1], shape: withParts(kernel.shape, axes[0], parts) },
      operands: operands.map((operand, i) =>
        kernel.kind === "reduce"
          ? interleaved(operand, axes[i], parts)
          : consecutive(operand, axes[i], parts, length)
      ),
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
function interleaved(operand: Operand, axis: number, parts: number): Operand {
  const { shape, strides } = operand;
  const stride = strides.at(axis)!;
  return {
    ...operand,
    shape: withParts(shape, axis, parts),
    strides: [stride, ...strides.with(axis, stride * parts)],
  };
}

/** A view of an operand with the parts of an axis as the first axis. The last terms of the last part may be past the end. */
function consecutive(operand: SumOperand, axis: number, parts: number, length: number): Operand {
  const { shape, strides, packed } = operand;
  const distance = packed ? length / groupSize * packed.outputs : length * strides.at(axis)!;
  return { ...operand, shape: [parts, ...shape.with(axis, length)], strides: [distance, ...strides] };
}

function withParts(shape: readonly number[], axis: number, parts: number): number[] {
  return [parts, ...shape.with(axis, Math.ceil(shape.at(axis)! / parts))];
}
