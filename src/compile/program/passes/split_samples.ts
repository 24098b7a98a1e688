/**
 * Splits each sample of a program into independent parts, such as the heads of fast weights. A GPU computes the parts in
 * different workgroups.
 */
import type { Kernel, Operand, Program } from "../program.ts";

/** A program for a part of a sample. The parts of a sample are adjacent samples of the new program. */
export interface SplitProgram {
  readonly program: Program;
  /** Parts of a sample; 1 if the program does not change. */
  readonly parts: number;
}

const splits = new WeakMap<Program, SplitProgram>();

/** Splits the samples of a program along the first axis of its first state that is longer than 1. */
export function splitSamples(program: Program): SplitProgram {
  let split = splits.get(program);
  if (!split) splits.set(program, split = splitProgram(program));
  return split;
}

function splitProgram(program: Program): SplitProgram {
  const { slots, inputs, kernels, next, outputs, sums, stepSums, weightGradients } = program;
  const unchanged = { program, parts: 1 };
  const parts = next[0].shape.find((length) => length > 1);
  // Sums over samples would be sums over the parts too.
  const sumsSamples = stepSums.length > 0 || weightGradients.length > 0 ||
    sums.some(({ over }) => over === "steps and samples");
  if (parts === undefined || sumsSamples) return unchanged;
  const isSplit = (slot: number | undefined): slot is number =>
    slot !== undefined && slots[slot].size % parts === 0;
  const blockOf = (slot: number) => slots[slot].size / parts;

  /** Whether an axis of an operand counts the parts. */
  const countsParts = ({ slot, shared, shape, strides, offset }: Operand, axis: number): boolean => {
    if (shape[axis] !== parts) return false;
    if (shared !== undefined) return strides[axis] === 0;
    if (!isSplit(slot) || strides[axis] !== blockOf(slot)) return false;
    let [first, last] = [offset, offset];
    shape.forEach((length, other) => {
      const reach = other === axis ? 0 : (length - 1) * strides[other];
      first += Math.min(0, reach);
      last += Math.max(0, reach);
    });
    return first >= 0 && last < blockOf(slot);
  };
  const operandsOf = (kernel: Kernel) => [...kernel.operands, ...kernel.output ? [kernel.output] : []];
  const axisOf = (operands: readonly Operand[], excluded: readonly number[] = []) =>
    operands[0].shape.findIndex((_, axis) =>
      !excluded.includes(axis) && operands.every((operand) => countsParts(operand, axis))
    );
  const onePart = <T extends Operand>(operand: T, axis: number): T => ({
    ...operand,
    shape: operand.shape.with(axis, 1),
  });

  const newKernels: Kernel[] = [];
  for (const kernel of kernels) {
    if (kernel.kind === "gather" || kernel.kind === "accumulate") return unchanged;
    const rank = kernel.output.shape.length;
    const excluded = kernel.kind === "reduce"
      ? kernel.axes
      : kernel.kind === "contract"
      ? [rank - 2, rank - 1]
      : [];
    const axis = axisOf(operandsOf(kernel), excluded);
    if (axis < 0) return unchanged;
    newKernels.push({
      ...kernel,
      operands: kernel.operands.map((operand) => onePart(operand, axis)),
      output: onePart(kernel.output, axis),
      ...kernel.kind === "reduce" ? { shape: kernel.shape.with(axis, 1) } : {},
    } as Kernel);
  }
  const results = [...next, ...outputs];
  const axes = results.map((operand) => axisOf([operand]));
  if (axes.includes(-1) || inputs.some(({ slot }) => slot !== undefined && !isSplit(slot))) return unchanged;
  const newResults = results.map((operand, i) => onePart(operand, axes[i]));
  return {
    parts,
    program: {
      ...program,
      slots: slots.map((slot, i) => isSplit(i) ? { ...slot, size: blockOf(i) } : slot),
      inputs: inputs.map((input) =>
        input.slot === undefined ? input : { ...input, size: input.size / parts }
      ),
      kernels: newKernels,
      next: newResults.slice(0, next.length),
      outputs: newResults.slice(next.length),
    },
  };
}
