/** Cuts a run into dispatches, each short enough for drivers that reset a GPU and for GPUs emulated by a processor. */
import { costOf } from "../../program/cost.ts";
import type { Run } from "../run.ts";
import type { WgslLoop } from "./emitter.ts";
import { type Adapter, type GpuLayout, sizeOfAll } from "./gpu_layout.ts";

/** Seconds that a dispatch should take at most, by the estimates below. */
const dispatchSeconds = 0.2;

/** Operations a second that a processor can be relied on for. */
const softwareRate = 5e8;

/** The same of one invocation on hardware, and workgroups that run at the same time on the smallest. */
const invocationRate = 2e7;
const concurrentWorkgroups = 32;

/** Largest size in bytes of the product rows, and of the slots that do not fit into workgroup memory. */
const temporaryBytes = 2 ** 28;

/** Samples and steps that are worked on at once. */
export interface Portions {
  /** Samples of a dispatch at most; the others follow when all steps of these are done. */
  readonly samples: number;
  /** Steps whose product rows are multiplied at once. */
  readonly stepsPerProduct: number;
  /** Steps of a dispatch at most. */
  readonly steps: number;
}

/** Chooses the samples and steps that are worked on at once. */
export function portionsOf({ program, batch, steps }: Run, layout: GpuLayout, adapter: Adapter): Portions {
  const { samples, lanes, spilled, productRows } = layout;
  const { maxIterations, limits } = adapter;
  const workgroups = Math.ceil(batch / samples);
  const rate = maxIterations < Infinity
    ? softwareRate
    : invocationRate * samples * lanes * Math.min(workgroups, concurrentWorkgroups);
  /** Steps of one sample that a dispatch has time for. */
  const affordable = Math.max(1, dispatchSeconds * rate / Math.max(1, costOf(program).operations));
  const words = Math.min(temporaryBytes, limits.maxStorageBufferBindingSize) / 4;
  const productRowSize = sizeOfAll(productRows.members);
  const atOnce = samples * Math.max(
    1,
    Math.floor(Math.min(
      workgroups,
      limits.maxComputeWorkgroupsPerDimension,
      words / samples / Math.max(spilled.size, productRowSize),
      affordable / samples,
    )),
  );
  const stepsPerProduct = Math.floor(Math.min(steps, words / (atOnce * productRowSize)));
  return {
    samples: Math.min(batch, atOnce),
    stepsPerProduct: Math.max(1, stepsPerProduct),
    steps: Math.max(1, Math.floor(affordable / atOnce)),
  };
}

/** Number of steps that a dispatch can run without taking more than so many iterations. */
export function stepsWithin({ iterations: { step, ends } }: WgslLoop, maxIterations: number): number {
  return Math.floor((maxIterations - ends) / (1 + step));
}
