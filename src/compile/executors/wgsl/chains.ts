/**
 * Groups kernels that compute the same elements into chains. One function runs a chain. Unlike a fused kernel, a chain may begin
 * with a matrix product or a load, store several results, and compute values that other chains read too. For example, the
 * invocation that computes an element of a matrix product also adds the bias and applies the activation.
 */
import { collapse } from "../../../device/collapse.ts";
import { identity, instantiate } from "../../../device/scalar/scalar.ts";
import { sizeOf } from "../../../device/shape.ts";
import { accessesOf, type Lifetime, lifetimesOf } from "../../program/liveness.ts";
import type { AccumulateKernel, Kernel, Operand, Program } from "../../program/program.ts";
import type { Place } from "./buffer_groups.ts";
import type { SumKernel } from "./split_sums.ts";

/** Copies a sample's part of an array into a slot. */
export interface Load {
  readonly kind: "load";
  readonly place: Place;
  readonly operands: readonly [];
  readonly output: Operand;
}

/** Copies an operand to a sample's part of an array. */
export interface Store {
  readonly kind: "store";
  readonly place: Place;
  readonly operands: readonly [Operand];
  readonly output?: undefined;
}

/** A kernel of a step, a load or a store. Sums may have parts: see {@linkcode SumKernel.terms}. */
export type Item = Exclude<Kernel, AccumulateKernel | SumKernel> | SumKernel | Load | Store;

/** Items that one function runs element by element: the first item is of any kind, the others are maps and stores. */
export type Chain = readonly Item[];

/** Maximum items of a chain: compile times grow with the length of a function. */
const maxItems = 12;

/** Elements that an item computes or copies. */
export function elementsOf(item: Item): number {
  return sizeOf((item.output ?? item.operands[0]).shape);
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
    rows.set(slot, { kind: "load", place, operands: [], output: wholeSlot(program, slot) });
  });
  const states = inputs.flatMap(({ role, slot }) => role === "state" ? [slot!] : []);
  const items = [
    ...kernels.flatMap((kernel): Item[] => {
      if (kernel.kind !== "accumulate") return [kernel];
      const { a, b } = places.productRowsAt.get(kernel)!;
      return [store(a, kernel.operands[0]), store(b, kernel.operands[1])];
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
    for (const { slot } of item.operands) {
      const load = slot === undefined ? undefined : rows.get(slot);
      if (!load) continue;
      chains.push([load]);
      rows.delete(slot!);
    }
    const fusable = fusableChain(item, chains);
    if (fusable) fusable.push(item);
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
function fusableChain(item: Item, chains: readonly Item[][]): Item[] | undefined {
  if (
    item.kind !== "map" && item.kind !== "store" ||
    accessesOf(item).some((operand) => lineOf(operand) === undefined)
  ) {
    return undefined;
  }
  for (const chain of chains.toReversed()) {
    if (canJoin(item, chain)) return chain;
    if (mustFollow(item, chain)) return undefined;
  }
}

/** Whether an item reads only elements that its invocation has computed in the chain, and overwrites none that another reads. */
function canJoin(item: Item, chain: readonly Item[]): boolean {
  if (chain.length >= maxItems || elementsOf(chain[0]) !== elementsOf(item)) return false;
  const written = chain.flatMap(({ output }) => output ?? []);
  const target = item.output;
  const sources = item.operands.filter(({ slot }) =>
    slot !== undefined && written.some((output) => output.slot === slot)
  );
  const isAt = (a: Operand, b: Operand) => lineKey(a) !== undefined && lineKey(a) === lineKey(b);
  const readsElement = sources.length > 0 &&
    sources.every((source) => written.every((output) => output.slot !== source.slot || isAt(output, source)));
  const conflicting = chain.flatMap(accessesOf).filter(({ slot }) => target && slot === target.slot);
  // The first item of a chain, such as a matrix product, may read other elements than it computes.
  const isElementwise = chain[0].kind === "map" || chain[0].kind === "store";
  const first: readonly Operand[] = chain[0].operands;
  return readsElement &&
    conflicting.every((access) => isAt(access, target!) && (isElementwise || !first.includes(access)));
}

/** Whether an item must run after a chain. */
function mustFollow(item: Item, chain: readonly Item[]): boolean {
  const target = item.output?.slot;
  const sources = new Set(item.operands.map(({ slot }) => slot));
  return chain.some(({ operands, output }) => {
    const written = output?.slot;
    return written !== undefined && (sources.has(written) || written === target) ||
      target !== undefined && operands.some(({ slot }) => slot === target);
  });
}

/** Lifetimes of slots, in positions of chains. Slots that only one chain uses need no memory and are omitted. */
export function lifetimesInChains(chains: readonly Chain[], program: Program): Map<number, Lifetime> {
  // Slots that are loop-carried, or loaded before the first step.
  const pinned = [
    ...program.inputs.flatMap(({ role, slot }) => role !== "row" && slot !== undefined ? [slot] : []),
    ...program.sums.map(({ slot }) => slot),
  ];
  const lifetimes = lifetimesOf(chains, pinned);
  chains.forEach((chain, time) => {
    for (const { output } of chain) {
      const lifetime = output && lifetimes.get(output.slot!);
      if (!lifetime || lifetime.first !== time || lifetime.last !== time) continue;
      const uses = chain.flatMap(accessesOf).filter(({ slot }) => slot === output.slot);
      const isLocal = lineKey(output) !== undefined && uses.every((use) => lineKey(use) === lineKey(output));
      const writes = chain.filter((item) => item.output?.slot === output.slot).length;
      if (isLocal && writes === 1) lifetimes.delete(output.slot!);
    }
  });
  return lifetimes;
}

/**
 * The phase of each chain, from 0: a chain that reads what other invocations wrote begins a phase, after a barrier. Memory that
 * is reused within a phase needs another barrier.
 */
export function phasesOf(chains: readonly Chain[]): number[] {
  let phase = 0;
  /** The slots that the phase has written, with the names of their elements. */
  let written = new Map<number, string | undefined>();
  return chains.map((chain) => {
    const readsOtherInvocations = chain.some((item) =>
      item.operands.some((operand) => {
        const { slot } = operand;
        if (slot === undefined || !written.has(slot)) return false;
        // Maps and stores read the elements that their invocation computes.
        const isElementwise = item.kind === "map" || item.kind === "store";
        return !isElementwise || lineKey(operand) === undefined || lineKey(operand) !== written.get(slot);
      })
    );
    if (readsOtherInvocations) {
      phase++;
      written = new Map();
    }
    for (const { output } of chain) if (output) written.set(output.slot!, lineKey(output));
    return phase;
  });
}
