/** Liveness: which kernels read and write each slot, and from when to when a slot holds a value. */
import type { Operand, Program } from "./program.ts";

/** The operands of a kernel, or of a load or store between a slot and other memory. */
interface Accesses {
  readonly operands: readonly Operand[];
  readonly output?: Operand;
}

/** Positions of the first and the last kernel that use a slot. */
export interface Lifetime {
  readonly first: number;
  readonly last: number;
}

/** Operands that a kernel reads or writes. */
export function accessesOf({ operands, output }: Accesses): readonly Operand[] {
  return output ? [...operands, output] : operands;
}

/** Operands that a program reads after the kernels of a step. */
export function resultsOf({ next, outputs, stepSums }: Program): Operand[] {
  return [...next, ...outputs, ...stepSums];
}

/** Kernels that read each slot, once per operand. Results are read by `undefined`. */
export function readersOf<K extends Accesses>(
  kernels: readonly K[],
  results: readonly Operand[],
): Map<number | undefined, (K | undefined)[]> {
  const reads = [
    ...kernels.flatMap((kernel) => kernel.operands.map(({ slot }) => ({ slot, reader: kernel }))),
    ...results.map(({ slot }) => ({ slot, reader: undefined })),
  ];
  const bySlot = Map.groupBy(reads, ({ slot }) => slot);
  return new Map([...bySlot].map(([slot, list]) => [slot, list.map(({ reader }) => reader)]));
}

/**
 * Lifetimes of the slots that kernels use.
 *
 * @param groups Groups of kernels that run as one. Lifetimes count groups.
 * @param pinned Slots that hold values during the whole loop.
 * @param results Operands that are read after the kernels.
 */
export function lifetimesOf(
  groups: readonly (readonly Accesses[])[],
  pinned: Iterable<number>,
  results: readonly Operand[] = [],
): Map<number, Lifetime> {
  const lifetimes = new Map<number, Lifetime>();
  for (const slot of pinned) lifetimes.set(slot, { first: -1, last: Infinity });
  const use = ({ slot }: Operand, time: number) => {
    if (slot === undefined) return;
    const { first, last } = lifetimes.get(slot) ?? { first: time, last: time };
    lifetimes.set(slot, { first, last: Math.max(last, time) });
  };
  groups.forEach((kernels, time) => {
    for (const kernel of kernels) for (const operand of accessesOf(kernel)) use(operand, time);
  });
  for (const operand of results) use(operand, groups.length);
  return lifetimes;
}

/** Lifetimes of the slots of a program. Persistent slots are live during the whole loop. */
export function lifetimesInStep(program: Program): Map<number, Lifetime> {
  const pinned = program.slots.flatMap(({ persistent }, slot) => persistent ? [slot] : []);
  return lifetimesOf(program.kernels.map((kernel) => [kernel]), pinned, resultsOf(program));
}
