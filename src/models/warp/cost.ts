/** Costs of the modes, in multiplications: which is the cheapest, and how far lists of powers are doubled. */
import { spectrumCost, transformCost } from "./fourier.ts";
import type { Transition } from "./transition.ts";

/** A step of fewer rows than this takes about as long as one of so many: the matrix is read all the same. */
const leastRows = 4;

/** The algorithm that computes states. */
export type WARPMode = "recurrent" | "convolutional" | "chunked";

/** Sizes of a run, which its cost depends on. */
export interface RunSizes {
  readonly batch: number;
  /** Steps after the first state. */
  readonly steps: number;
  readonly inputs: number;
  /** D. */
  readonly size: number;
  /** First states: one for each sample, or one for all. */
  readonly starts: number;
  /** Whether the last state alone is wanted. */
  readonly final: boolean;
}

/** The cost of each mode, and how long the blocks of the chunked one are at best: 2^doublings steps. */
export interface ModeCosts {
  readonly cost: Readonly<Record<WARPMode, number>>;
  readonly doublings: number;
}

/** Multiplications of a run in every mode. */
export function modeCosts(transition: Transition, sizes: RunSizes): ModeCosts {
  const { batch, steps, inputs, size, starts, final } = sizes;
  const driving = batch * steps * inputs * size;
  const sequence = (count: number, rows: number) =>
    sequenceCost(transition, count, rows, sequenceDoublings(transition, count, rows));
  const finalConvolution = () => {
    if (starts === 1) return sequence(steps + 1, inputs + 1) + driving;
    const doublings = powerDoublings(transition, steps, starts);
    const kernel = Math.max(doublings, sequenceDoublings(transition, steps, inputs));
    return powerCost(transition, steps, starts, doublings) + driving +
      sequenceCost(transition, steps, inputs, kernel) - doublings * transition.squareCost;
  };
  const chunked = cheapest(steps, (doublings) => {
    const length = 2 ** doublings;
    const count = Math.ceil(steps / length);
    const toBlocks = sequenceCost(transition, length, inputs, doublings) + driving +
      chain(transition, count, batch);
    return final ? toBlocks : toBlocks + chain(transition, length, batch * count) + driving;
  });
  return {
    cost: {
      recurrent: chain(transition, steps, batch) + driving,
      convolutional: final
        ? finalConvolution()
        : sequence(steps + 1, inputs + starts) + Math.min(windowsCost(sizes), fourierCost(sizes)),
      chunked: chunked.cost,
    },
    doublings: chunked.doublings,
  };
}

/** Costs of the algorithms of a run that feeds on its predictions, and the best length of a block. */
export interface FeedingCosts {
  readonly recurrent: number;
  readonly convolutional: number;
  readonly block: number;
}

/** Multiplications of a run that feeds on its predictions, without those of the root network. */
export function feedingCosts(transition: Transition, sizes: Omit<RunSizes, "final">): FeedingCosts {
  const { batch, steps, inputs, size, starts } = sizes;
  const step = batch * inputs * size;
  const rows = inputs + starts;
  const powers = sequenceCost(transition, steps + 1, rows, sequenceDoublings(transition, steps + 1, rows));
  // Windows are as long as a block over what lies before it; a step's product is as long as the block.
  const block = Math.max(1, Math.min(feedingBlock, steps));
  const windows = step * steps * (steps + block) / 2;
  return {
    recurrent: chain(transition, steps, batch) + step * steps,
    convolutional: powers + windows + step * steps * block,
    block,
  };
}

/** Steps of a block: longer ones make fewer products of what lies before, shorter ones smaller triangles. */
const feedingBlock = 16;

/** The mode that costs least; of equal ones the simplest. */
export function cheapestMode({ cost }: ModeCosts): WARPMode {
  const modes: readonly WARPMode[] = ["recurrent", "convolutional", "chunked"];
  return modes.reduce((best, mode) => cost[mode] < cost[best] ? mode : best);
}

/** Numbers that the windows of a convolution may have at a time. */
const maxWindowElements = 2 ** 24;

/** Number of steps whose windows a convolution holds at a time: an eighth of all, so that few reach before the first step. */
export function windowBlock({ batch, steps, inputs }: Pick<RunSizes, "batch" | "steps" | "inputs">): number {
  const fitting = Math.floor(maxWindowElements / (batch * steps * inputs));
  return Math.max(1, Math.min(Math.max(32, Math.ceil(steps / 8)), fitting, steps));
}

/** Sizes of a convolution, which its cost depends on. */
type ConvolutionSizes = Pick<RunSizes, "batch" | "steps" | "inputs" | "size">;

/** Whether Fourier transforms take fewer operations for a convolution than windows do. */
export function cheaperByFourier(sizes: ConvolutionSizes): boolean {
  return fourierCost(sizes) < windowsCost(sizes);
}

function windowsCost(sizes: ConvolutionSizes): number {
  const { batch, steps, inputs, size } = sizes;
  return batch * steps * inputs * size * (steps + windowBlock(sizes)) / 2;
}

function fourierCost({ batch, steps, inputs, size }: ConvolutionSizes): number {
  const transforms = inputs * size + batch * inputs + batch * size;
  // Spectra are short of arithmetic: what they take is to be written and read.
  return transforms * transformCost(steps) + batch * size * spectrumCost(steps) * Math.max(inputs, 8);
}

/** The best number of doublings of a list of powers of some rows. */
export function sequenceDoublings(transition: Transition, count: number, rows: number): number {
  return cheapest(count, (doublings) => sequenceCost(transition, count, rows, doublings)).doublings;
}

/** The best number of squares for the power of some rows. */
export function powerDoublings(transition: Transition, exponent: number, rows: number): number {
  return cheapest(exponent, (doublings) => powerCost(transition, exponent, rows, doublings)).doublings;
}

function sequenceCost(transition: Transition, count: number, rows: number, doublings: number): number {
  const block = 2 ** doublings;
  const doubled = Array.from({ length: doublings }, (_, j) => chain(transition, 1, rows * 2 ** j));
  return doublings * transition.squareCost + doubled.reduce((sum, cost) => sum + cost, 0) +
    chain(transition, Math.ceil(count / block) - 1, rows * block);
}

function powerCost(transition: Transition, exponent: number, rows: number, doublings: number): number {
  return doublings * transition.squareCost +
    chain(transition, doublings / 2 + Math.floor(exponent / 2 ** doublings), rows);
}

function chain({ applyCost }: Transition, steps: number, rows: number): number {
  return steps * Math.max(rows, leastRows) * applyCost;
}

/** The cheapest number of doublings of a list that grows to `count`. */
function cheapest(count: number, costOf: (doublings: number) => number): { doublings: number; cost: number } {
  let best = { doublings: 0, cost: costOf(0) };
  for (let doublings = 1; 2 ** (doublings - 1) < count; doublings++) {
    const cost = costOf(doublings);
    if (cost < best.cost) best = { doublings, cost };
  }
  return best;
}
