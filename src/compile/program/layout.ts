import type { Kernel, Operand, Program } from "./program.ts";

/** Offsets of the slots in a sample's memory. */
export interface Layout {
  /** In elements. Undefined for unused slots. */
  readonly offsets: readonly (number | undefined)[];
  /** Total elements. */
  readonly size: number;
}

/** Operands that a kernel reads and writes. */
export function operandsOf(kernel: Kernel): Operand[] {
  switch (kernel.kind) {
    case "map":
    case "reduce":
      return [...kernel.operands, kernel.output];
    case "contract":
      return [
        kernel.a,
        kernel.b,
        ...kernel.bias ? [kernel.bias] : [],
        ...kernel.epilogue?.operands ?? [],
        kernel.output,
      ];
    case "gather":
      return [kernel.table, kernel.indices, kernel.output];
    case "accumulate":
      return [kernel.a, kernel.b];
  }
}

/** Positions of the first and the last kernel that use a slot. */
export interface Life {
  readonly first: number;
  readonly last: number;
}

/** Liveness of the slots of a program. */
export function livesOf(
  { slots, kernels, next, outputs, stepSums, inputs, sums }: Program,
): Map<number, Life> {
  const lives = new Map<number, Life>();
  const touch = ({ slot }: { slot?: number }, time: number) => {
    if (slot === undefined) return;
    const { first } = lives.get(slot) ?? { first: time };
    lives.set(slot, slots[slot].persistent ? { first: -1, last: Infinity } : { first, last: time });
  };
  for (const input of inputs) touch(input, -1);
  for (const sum of sums) touch(sum, -1);
  kernels.forEach((kernel, time) => operandsOf(kernel).forEach((operand) => touch(operand, time)));
  for (const operand of [...next, ...outputs, ...stepSums]) touch(operand, kernels.length);
  return lives;
}

/** Assigns memory to slots. Slots that are never live at the same time share memory. */
export function layOut(program: Program): Layout {
  return placeSlots(program.slots, livesOf(program));
}

/** Assigns memory to slots with given lifetimes. */
export function placeSlots(
  slots: Program["slots"],
  lives: Iterable<readonly [slot: number, life: Life]>,
): Layout {
  const offsets = new Array<number | undefined>(slots.length).fill(undefined);
  const placed: { start: number; end: number; first: number; last: number }[] = [];
  // Largest slots first, so that small slots fill the gaps.
  const order = [...lives].sort(([a], [b]) => slots[b].size - slots[a].size);
  for (const [slot, { first, last }] of order) {
    const rivals = placed.filter((other) => other.first <= last && first <= other.last).sort((a, b) =>
      a.start - b.start
    );
    let start = 0;
    for (const rival of rivals) {
      if (start + slots[slot].size <= rival.start) break;
      start = Math.max(start, rival.end);
    }
    offsets[slot] = start;
    placed.push({ start, end: start + slots[slot].size, first, last });
  }
  return { offsets, size: placed.reduce((size, { end }) => Math.max(size, end), 0) };
}
