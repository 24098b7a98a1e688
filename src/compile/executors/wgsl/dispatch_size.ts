/** Sizes of dispatches: short enough for drivers with a time limit, and for iteration limits of software GPUs. */
import { costOf } from "../../program/cost.ts";
import type { Run } from "../run.ts";
import type { WgslLoop } from "./emit_wgsl.ts";
import { sizeOfAll } from "./buffer_groups.ts";
import type { Adapter, GpuLayout } from "./gpu_layout.ts";

/** Maximum seconds of a dispatch, by the estimates below. */
const dispatchSeconds = 0.2;

/** Operations per second of a slow software GPU. */
const softwareRate = 5e8;

/** Operations per second of one invocation of a slow GPU, and the number of workgroups that it runs at the same time. */
const invocationRate = 2e7;
const concurrentWorkgroups = 32;

/** Maximum bytes of the product rows, and of the spilled slots. */
const temporaryBytes = 2 ** 28;

/** Samples and steps of a dispatch. */
interface DispatchSize {
  /** Maximum samples of a dispatch. All steps of these samples run before other samples. */
  readonly samples: number;
  /** Steps whose product rows are multiplied in one product. */
  readonly stepsPerProduct: number;
  /** Maximum steps of a dispatch. */
  readonly steps: number;
}

/** Chooses the samples and steps of a dispatch. */
export function chooseDispatchSize(
  { program, batch, steps }: Run,
  layout: GpuLayout,
  adapter: Adapter,
): DispatchSize {
  const { samples, lanes, spilled, productRows } = layout;
  const { maxIterations, limits } = adapter;
  const workgroups = Math.ceil(batch / samples);
  const rate = maxIterations < Infinity
    ? softwareRate
    : invocationRate * samples * lanes * Math.min(workgroups, concurrentWorkgroups);
  /** Steps of one sample within the time limit of a dispatch. */
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

/** Number of steps that a dispatch can run with at most `maxIterations` loop iterations per invocation. */
export function stepsWithin({ iterations: { step, ends } }: WgslLoop, maxIterations: number): number {
  return Math.floor((maxIterations - ends) / (1 + step));
}
