/**
 * Counts the multiplications of WARP's algorithms for the states of a series ({@linkcode WARPMode}), to choose the
 * cheapest one. The convolutional and the chunked algorithm need lists of powers I, A, A^2, ... of the transition A.
 * A list is doubled by a product with a power of A, so the number of doublings is chosen too.
 */
import { spectrumCost, transformCost } from "./fourier.ts";
import type { Transition } from "./transition.ts";

/**
 * Minimum number of rows for which the time of a product with A grows with the rows. With fewer rows, reading A takes
 * most of the time.
 */
const leastRows = 4;

/** The algorithm that computes states. */
export type WARPMode = "recurrent" | "convolutional" | "chunked";

/** Sizes of a batch of series, which determine the cost of its states. */
export interface RunSizes {
  readonly batch: number;
  /** Steps after the first state. */
  readonly steps: number;
  readonly inputs: number;
  /** Length D of the state. */
  readonly size: number;
  /** Number of initial states: one for each sample, or one for all. */
  readonly starts: number;
  /** Whether only the last state is needed. */
  readonly final: boolean;
}

/** The cost of each mode, and the best block length of the chunked mode: 2^doublings steps. */
interface ModeCosts {
  readonly cost: Readonly<Record<WARPMode, number>>;
  readonly doublings: number;
}

/** Multiplications of a run in each mode. */
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

/** Costs of the algorithms of a run that feeds back predictions, and the best block length. */
interface FeedingCosts {
  readonly recurrent: number;
  readonly convolutional: number;
  readonly block: number;
}

/** Multiplications of a run that feeds back predictions, without those of the root network. */
export function feedingCosts(transition: Transition, sizes: Omit<RunSizes, "final">): FeedingCosts {
  const { batch, steps, inputs, size, starts } = sizes;
  const step = batch * inputs * size;
  const rows = inputs + starts;
  const powers = sequenceCost(transition, steps + 1, rows, sequenceDoublings(transition, steps + 1, rows));
  // Window products cover everything before a block. The product of a step inside a block is as long as the
  // block.
  const block = Math.max(1, Math.min(feedingBlock, steps));
  const windows = step * steps * (steps + block) / 2;
  return {
    recurrent: chain(transition, steps, batch) + step * steps,
    convolutional: powers + windows + step * steps * block,
    block,
  };
}

/**
 * Steps of a block. Longer blocks need fewer products for earlier blocks; shorter blocks have smaller
 * triangles.
 */
const feedingBlock = 16;

/** The cheapest mode. If costs are equal, the simplest mode. */
export function cheapestMode({ cost }: ModeCosts): WARPMode {
  const modes: readonly WARPMode[] = ["recurrent", "convolutional", "chunked"];
  return modes.reduce((best, mode) => cost[mode] < cost[best] ? mode : best);
}

/** Maximum number of elements of the windows of a convolution at a time. */
const maxWindowElements = 2 ** 24;

/**
 * Number of steps whose windows a convolution holds at a time: an eighth of all steps, so that few windows
 * extend before the first step.
 */
export function windowBlock({ batch, steps, inputs }: Pick<RunSizes, "batch" | "steps" | "inputs">): number {
  const fitting = Math.floor(maxWindowElements / (batch * steps * inputs));
  return Math.max(1, Math.min(Math.max(32, Math.ceil(steps / 8)), fitting, steps));
}

/** Sizes of a convolution, which determine its cost. */
type ConvolutionSizes = Pick<RunSizes, "batch" | "steps" | "inputs" | "size">;

/** Whether a convolution takes fewer operations by Fourier transforms than by windows. */
export function cheaperByFourier(sizes: ConvolutionSizes): boolean {
  return fourierCost(sizes) < windowsCost(sizes);
}

function windowsCost(sizes: ConvolutionSizes): number {
  const { batch, steps, inputs, size } = sizes;
  return batch * steps * inputs * size * (steps + windowBlock(sizes)) / 2;
}

function fourierCost({ batch, steps, inputs, size }: ConvolutionSizes): number {
  const transforms = inputs * size + batch * inputs + batch * size;
  // Spectra are bound by memory traffic, not by arithmetic.
  return transforms * transformCost(steps) + batch * size * spectrumCost(steps) * Math.max(inputs, 8);
}

/** The best number of doublings of a list of powers applied to some rows. */
export function sequenceDoublings(transition: Transition, count: number, rows: number): number {
  return cheapest(count, (doublings) => sequenceCost(transition, count, rows, doublings)).doublings;
}

/** The best number of squares for a power applied to some rows. */
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

/** The cheapest number of doublings for a list that grows to `count`. */
function cheapest(count: number, costOf: (doublings: number) => number): { doublings: number; cost: number } {
  let best = { doublings: 0, cost: costOf(0) };
  for (let doublings = 1; 2 ** (doublings - 1) < count; doublings++) {
    const cost = costOf(doublings);
    if (cost < best.cost) best = { doublings, cost };
  }
  return best;
}
