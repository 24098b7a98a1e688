/**
 * Fuses kernels that compute the same elements into chains. For example, the bias and the activation after a matrix product
 * are computed by the invocation that computes the element of the product, without storing the product.
 */
import { collapse } from "../../../device/collapse.ts";
import { identity, instantiate } from "../../../device/scalar.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { Life } from "../../program/layout.ts";
import type { AccumulateKernel, Kernel, Operand, Program } from "../../program/program.ts";
import type { Place } from "./buffer_groups.ts";

/** Copies a sample's part of an array into a slot. */
export interface Load {
  readonly kind: "load";
  readonly place: Place;
  readonly output: Operand;
}

/** Copies an operand to a sample's part of an array. */
export interface Store {
  readonly kind: "store";
  readonly place: Place;
  readonly operands: readonly [Operand];
}

export type Item = Exclude<Kernel, AccumulateKernel> | Load | Store;

/** Items that one function runs element by element: the first item is of any kind, the others are maps and stores. */
export type Chain = readonly Item[];

/** Maximum items of a chain: compile times grow with the length of a function. */
const maxItems = 12;

/** Operands that an item reads. */
export function readsOf(item: Item): readonly Operand[] {
  switch (item.kind) {
    case "load":
      return [];
    case "contract":
      return [item.a, item.b];
    case "gather":
      return [item.table, item.indices];
    default:
      return item.operands;
  }
}

/** The operand that an item writes. Undefined for a store, which writes to a buffer. */
export function writeOf(item: Item): Operand | undefined {
  return item.kind === "store" ? undefined : item.output;
}

/** Operands that an item reads or writes. */
function operandsOf(item: Item): Operand[] {
  const written = writeOf(item);
  return written ? [...readsOf(item), written] : [...readsOf(item)];
}

/** Elements that an item computes or copies. */
export function elementsOf(item: Item): number {
  return sizeOf((writeOf(item) ?? readsOf(item)[0]).shape);
}

/** The distance between consecutive elements in row-major order. Returns undefined if it is not constant. */
export function lineOf({ shape, strides }: Operand): number | undefined {
  const walk = collapse(shape, [strides]);
  if (walk.shape.length > 1) return undefined;
  return walk.shape[0] === 1 ? 0 : walk.strides[0][0];
}

/** A name for the elements of an operand in a slot. Returns undefined if the distance between them is not constant. */
export function lineKey(operand: Operand): string | undefined {
  const stride = lineOf(operand);
  if (operand.slot === undefined || stride === undefined) return undefined;
  return `${operand.slot} ${operand.offset} ${stride} ${sizeOf(operand.shape)}`;
}

/** Lists the items of a step and fuses them. */
export function chainsOf(
  program: Program,
  places: {
    readonly inputAt: readonly (Place | undefined)[];
    readonly outputAt: readonly Place[];
    readonly productRowsAt: ReadonlyMap<AccumulateKernel, { readonly a: Place; readonly b: Place }>;
  },
): Chain[] {
  const { inputs, kernels, next, outputs, stepSums, slots } = program;
  const store = (place: Place, operand: Operand): Store => ({ kind: "store", place, operands: [operand] });
  const rows = new Map<number, Load>();
  inputs.forEach(({ role, slot }, i) => {
    const place = places.inputAt[i];
    if (role !== "row" || slot === undefined || !place) return;
    rows.set(slot, { kind: "load", place, output: wholeSlot(program, slot) });
  });
  const states = inputs.flatMap(({ role, slot }) => role === "state" ? [slot!] : []);
  const items = [
    ...kernels.flatMap((kernel): Item[] => {
      if (kernel.kind !== "accumulate") return [kernel];
      const { a, b } = places.productRowsAt.get(kernel)!;
      return [store(a, kernel.a), store(b, kernel.b)];
    }),
    ...[...outputs, ...stepSums].map((operand, i) => store(places.outputAt[i], operand)),
    ...next.flatMap((operand, i): Item[] => {
      if (operand.slot === states[i]) return [];
      const size = slots[states[i]].size;
      const expression = instantiate(identity, [operand.dtype]);
      const source = { ...operand, shape: [size], strides: [1] };
      return [{ kind: "map", expression, operands: [source], output: wholeSlot(program, states[i]) }];
    }),
  ].filter((item) => elementsOf(item) > 0);

  const chains: Item[][] = [];
  for (const item of items) {
    for (const { slot } of readsOf(item)) {
      const load = slot === undefined ? undefined : rows.get(slot);
      if (!load) continue;
      chains.push([load]);
      rows.delete(slot!);
    }
    const home = homeOf(item, chains);
    if (home) home.push(item);
    else chains.push([item]);
  }
  return chains;
}

/** All elements of a slot. */
export function wholeSlot({ slots }: Program, slot: number): Operand {
  const { size, dtype } = slots[slot];
  return { slot, dtype, shape: [size], strides: [1], offset: 0 };
}

/** The chain that an item can be fused into: the item reads from the chain, and does not depend on later chains. */
function homeOf(item: Item, chains: readonly Item[][]): Item[] | undefined {
  if (
    item.kind !== "map" && item.kind !== "store" ||
    operandsOf(item).some((operand) => lineOf(operand) === undefined)
  ) {
    return undefined;
  }
  for (const chain of chains.toReversed()) {
    if (joins(item, chain)) return chain;
    if (depends(item, chain)) return undefined;
  }
}

function joins(item: Item, chain: readonly Item[]): boolean {
  if (chain.length >= maxItems || elementsOf(chain[0]) !== elementsOf(item)) return false;
  const written = chain.flatMap((own) => writeOf(own) ?? []);
  const target = writeOf(item);
  const sources = readsOf(item).filter(({ slot }) =>
    slot !== undefined && written.some((own) => own.slot === slot)
  );
  const isAt = (a: Operand, b: Operand) => lineKey(a) !== undefined && lineKey(a) === lineKey(b);
  const readsElement = sources.length > 0 &&
    sources.every((source) => written.every((own) => own.slot !== source.slot || isAt(own, source)));
  const rivals = chain.flatMap(operandsOf).filter(({ slot }) => target && slot === target.slot);
  // The first item of a chain, such as a matrix product, may read other elements than it computes.
  const isElementwise = chain[0].kind === "map" || chain[0].kind === "store";
  const first = readsOf(chain[0]);
  return readsElement &&
    rivals.every((own) => isAt(own, target!) && (isElementwise || !first.includes(own)));
}

/** Whether an item must run after a chain. */
function depends(item: Item, chain: readonly Item[]): boolean {
  const target = writeOf(item)?.slot;
  const sources = new Set(readsOf(item).map(({ slot }) => slot));
  return chain.some((own) => {
    const written = writeOf(own)?.slot;
    return written !== undefined && (sources.has(written) || written === target) ||
      target !== undefined && readsOf(own).some(({ slot }) => slot === target);
  });
}

/** Liveness of slots, by position of chains. Slots that only one chain uses need no memory and are omitted. */
export function livesIn(chains: readonly Chain[], program: Program): Map<number, Life> {
  const lives = new Map<number, Life>();
  const touch = (slot: number, time: number) => {
    const { first } = lives.get(slot) ?? { first: time };
    lives.set(slot, { first, last: time });
  };
  chains.forEach((chain, time) => {
    for (const item of chain) {
      for (const { slot } of operandsOf(item)) {
        if (slot !== undefined) touch(slot, time);
      }
    }
  });
  // Loop-carried slots, and slots that are loaded before the first step.
  const kept = [
    ...program.inputs.flatMap(({ role, slot }) => role !== "row" && slot !== undefined ? [slot] : []),
    ...program.sums.map(({ slot }) => slot),
  ];
  for (const slot of kept) lives.set(slot, { first: -1, last: Infinity });
  chains.forEach((chain, time) => {
    for (const item of chain) {
      const target = writeOf(item);
      const life = target && lives.get(target.slot!);
      if (!life || life.first !== time || life.last !== time) continue;
      const uses = chain.flatMap(operandsOf).filter(({ slot }) => slot === target.slot);
      const isLocal = lineKey(target) !== undefined && uses.every((use) => lineKey(use) === lineKey(target));
      const writes = chain.filter((own) => writeOf(own)?.slot === target.slot).length;
      if (isLocal && writes === 1) lives.delete(target.slot!);
    }
  });
  return lives;
}
