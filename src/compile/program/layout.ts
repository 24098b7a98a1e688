import { type Lifetime, lifetimesInStep } from "./liveness.ts";
import type { Program } from "./program.ts";

/** Offsets of the slots in a sample's memory. */
export interface Layout {
  /** In elements. Undefined for unused slots. */
  readonly offsets: readonly (number | undefined)[];
  /** Total elements. */
  readonly size: number;
}

/** Assigns memory to slots. Slots that are never live at the same time share memory. */
export function layOut(program: Program): Layout {
  return placeSlots(program.slots, lifetimesInStep(program));
}

/**
 * Assigns memory to slots with given lifetimes.
 *
 * @param block Elements of a block. Slots of at least a block begin at the beginning of a block, smaller slots are within one.
 * @param isAligned Whether a smaller slot, too, begins at the beginning of a block.
 */
export function placeSlots(
  slots: Program["slots"],
  lifetimes: Iterable<readonly [slot: number, lifetime: Lifetime]>,
  block = 1,
  isAligned: (slot: number) => boolean = () => false,
): Layout {
  const offsets = new Array<number | undefined>(slots.length).fill(undefined);
  const placed: { start: number; end: number; first: number; last: number }[] = [];
  // Largest slots first, so that small slots fill the gaps.
  const order = [...lifetimes].sort(([a], [b]) => slots[b].size - slots[a].size);
  for (const [slot, { first, last }] of order) {
    const rivals = placed.filter((other) => other.first <= last && first <= other.last).sort((a, b) =>
      a.start - b.start
    );
    const { size } = slots[slot];
    const isWhole = size >= block || isAligned(slot);
    const from = (start: number) =>
      isWhole || start % block + size > block ? Math.ceil(start / block) * block : start;
    let start = 0;
    for (const rival of rivals) {
      if (start + size <= rival.start) break;
      start = Math.max(start, from(rival.end));
    }
    offsets[slot] = start;
    placed.push({ start, end: start + size, first, last });
  }
  const size = placed.reduce((size, { end }) => Math.max(size, end), 0);
  return { offsets, size: Math.ceil(size / block) * block };
}

/**
 * Assigns arrays to slots: slots of the same size and type that are never live at the same time share an array.
 *
 * @returns The position of the array of each slot.
 */
export function shareArrays(
  slots: Program["slots"],
  lifetimes: Iterable<readonly [slot: number, lifetime: Lifetime]>,
): Map<number, number> {
  const arrays: { size: number; dtype: string; until: number }[] = [];
  const order = [...lifetimes].sort(([, a], [, b]) => a.first - b.first);
  return new Map(order.map(([slot, { first, last }]) => {
    const { size, dtype } = slots[slot];
    let position = arrays.findIndex((array) =>
      array.until < first && array.size === size && array.dtype === dtype
    );
    if (position < 0) position = arrays.push({ size, dtype, until: last }) - 1;
    arrays[position].until = last;
    return [slot, position];
  }));
}
