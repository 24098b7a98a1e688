/** Moves constant fills out of a loop. The gradient of a slice is a fill with zeros. A part of it is then overwritten. */
import { sizeOf } from "../../../device/shape.ts";
import type { Kernel, MapKernel, Program } from "../program.ts";

/**
 * Removes kernels that fill a slot with a constant, if the other kernels write the same parts of the slot in every step, before
 * the first reads it. The slots then keep their values from step to step, in separate memory.
 *
 * @returns The program, and the kernels to run once before the loop.
 */
export function hoistFills(program: Program): { program: Program; fills: MapKernel[] } {
  const { slots, kernels } = program;
  const isFill = (kernel: Kernel): kernel is MapKernel => {
    if (kernel.kind !== "map" || kernel.operands.length > 0 || kernel.expression.op !== "constant") {
      return false;
    }
    const slot = kernel.output.slot!;
    const { size, persistent } = slots[slot];
    if (persistent || sizeOf(kernel.output.shape) !== size) return false;
    const writes = ({ output }: Kernel) => output?.slot === slot;
    const reads = ({ operands }: Kernel) => operands.some((operand) => operand.slot === slot);
    const writers = kernels.filter(writes);
    const firstReader = kernels.findIndex(reads);
    return writers[0] === kernel && writers.slice(1).every(({ output }) => sizeOf(output!.shape) < size) &&
      (firstReader < 0 || kernels.findLastIndex(writes) < firstReader);
  };
  const fills = kernels.filter(isFill);
  const filled = new Set(fills.map(({ output }) => output.slot));
  return {
    fills,
    program: {
      ...program,
      kernels: kernels.filter((kernel) => !isFill(kernel)),
      slots: slots.map((slot, i) => filled.has(i) ? { ...slot, persistent: true } : slot),
    },
  };
}
