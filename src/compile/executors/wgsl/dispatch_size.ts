/** Sizes of dispatches: short enough for drivers with a time limit, and for iteration limits of software GPUs. */
import {
  concurrentInvocations,
  invocationRate,
  submissionBudget,
} from "../../../device/webgpu/submission_budget.ts";
import { operationsOfStep } from "../../program/cost.ts";
import type { Run } from "../run.ts";
import type { WgslLoop } from "./emit_wgsl.ts";
import { sizeOfAll } from "./buffer_groups.ts";
import type { Adapter } from "./choose_workgroup.ts";
import type { GpuLayout } from "./gpu_layout.ts";

/** Maximum operations of a dispatch: half a submission. */
const dispatchBudget = submissionBudget / 2;

/** Operations per second of a slow software GPU. */
const softwareRate = 5e8;

/** Invocations of a workgroup of a slow GPU that runs at full speed. Smaller workgroups take as long. */
const fullWorkgroup = 256;

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
  /** Operations of a step of one sample, as a fully occupied GPU computes in the same time. */
  readonly operations: number;
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
  const atATime = Math.min(workgroups, concurrentInvocations / fullWorkgroup);
  const fullRate = invocationRate * concurrentInvocations;
  const rate = maxIterations < Infinity ? softwareRate : invocationRate * samples * lanes * atATime;
  const operations = Math.max(1, operationsOfStep(program)) * fullRate / rate;
  /** Steps of one sample within the limit of a dispatch. */
  const affordable = Math.max(1, dispatchBudget / operations);
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
    operations,
  };
}

/** Number of steps that a dispatch can run with at most `maxIterations` loop iterations per invocation. */
export function stepsWithin({ iterations: { step, ends } }: WgslLoop, maxIterations: number): number {
  return Math.floor((maxIterations - ends) / (1 + step));
}
