/** Groups of arrays that share a buffer. Adapters limit the number of buffers of a shader. */
import type { DType } from "../../../device/dtype.ts";

/** Type of the words of a buffer or of workgroup memory. */
export type Word = "f32" | "u32";

/**
 * Arrays that are consecutive in one buffer: `(batch, size)`, or `(steps, batch, size)` with one row per step; without the batch
 * if the samples share them. Product rows are stored for some steps and samples: `(steps of a product, samples, size)`.
 */
export interface Group {
  readonly name: string;
  readonly word: Word;
  readonly access: "read" | "read_write";
  readonly rows: "one" | "steps" | "steps of a product" | "shared" | "shared steps";
  readonly members: readonly Member[];
  /** Words of an element of the buffer: one, or four if the buffer has vectors. */
  readonly block: number;
}

/** An array of a {@linkcode Group}. */
export interface Member {
  /** Elements per sample, or in all if the samples share the array; a multiple of {@linkcode Group.block}. */
  readonly size: number;
  readonly dtype: DType;
}

/** Position of an array in a group. */
export interface Place {
  readonly group: Group;
  /** Position of the array in the group. */
  readonly member: number;
}

/** Total elements of arrays. */
export function sizeOfAll(members: readonly Member[]): number {
  return members.reduce((sum, { size }) => sum + size, 0);
}

/** A group of arrays. Each array begins at a multiple of `block` words. */
export function makeGroup(
  name: string,
  access: Group["access"],
  rows: Group["rows"],
  members: readonly Member[],
  block = 1,
): Group {
  return {
    name,
    block,
    access,
    rows,
    word: wordFor(members),
    members: members.map(({ size, dtype }) => ({ size: roundUp(size, block), dtype })),
  };
}

/** The smallest multiple of `unit` that is at least `size`. */
export function roundUp(size: number, unit: number): number {
  return Math.ceil(size / unit) * unit;
}

/** Groups with other types than float32 are declared as integers and store bits. */
function wordFor(members: readonly { dtype: DType }[]): Word {
  return members.some(({ dtype }) => dtype !== "float32") ? "u32" : "f32";
}

/** Distributes arrays over at most `most` buffers. The largest arrays have a buffer each. */
export function makeGroups(
  name: string,
  access: Group["access"],
  members: readonly Member[],
  most: number,
): { groups: Group[]; places: Place[] } {
  const order = members.map((_, i) => i).sort((i, j) => members[j].size - members[i].size);
  const alone = members.length <= most ? members.length : Math.max(0, most - 1);
  const rest = order.slice(alone);
  const parts = [...order.slice(0, alone).map((i) => [i]), ...rest.length > 0 ? [rest] : []];
  const groups = parts.map((part, i) =>
    makeGroup(`${name}${i}`, access, "steps", part.map((member) => members[member]))
  );
  const places = members.map((_, i) => {
    const part = parts.findIndex((part) => part.includes(i));
    return { group: groups[part], member: parts[part].indexOf(i) };
  });
  return { groups, places };
}
