/** Cuts a run into dispatches, each short enough for drivers that reset a GPU and for GPUs emulated by a processor. */
import { largest } from "../../device/extremes.ts";
import { costOf } from "../cost.ts";
import type { Run } from "../run.ts";
import type { WgslLoop } from "./emitter.ts";
import type { Iterations } from "./function_text.ts";
import type { Adapter, GpuPlan } from "./plan.ts";

/** Seconds that a dispatch should take at most, by the estimates below. */
const dispatchSeconds = 0.2;

/** Operations a second that a processor can be relied on for. */
const softwareRate = 5e8;

/** The same of one invocation on hardware, and workgroups that run at the same time on the smallest. */
const invocationRate = 2e7;
const concurrentWorkgroups = 32;

/** Terms of a matrix product are iterations of a loop too, where those are counted. */
const maxTerms = 16_384;

/** Largest size in bytes of the product rows, and of the slots that do not fit into workgroup memory. */
const temporaryBytes = { software: 2 ** 24, hardware: 2 ** 28 };

/** Samples and steps that are worked on at once. */
export interface Portions {
  /** Samples of a dispatch at most; the others follow when all steps of these are done. */
  readonly samples: number;
  /** Steps whose product rows are multiplied at once. */
  readonly stepsPerProduct: number;
  /** Steps of a dispatch at most. */
  readonly steps: number;
}

/** Kernels and steps of one dispatch, from the first to before the last kernel and for `count` steps. */
export interface DispatchRange {
  readonly firstKernel: number;
  readonly lastKernel: number;
  readonly firstStep: number;
  readonly count: number;
}

/** Chooses the samples and steps that are worked on at once. */
export function portionsOf({ program, batch, steps }: Run, plan: GpuPlan, adapter: Adapter): Portions {
  const { samples, lanes, spilled, productRows, totals } = plan;
  const { software, limits } = adapter;
  const workgroups = Math.ceil(batch / samples);
  const rate = software
    ? softwareRate
    : invocationRate * samples * lanes * Math.min(workgroups, concurrentWorkgroups);
  /** Steps of one sample that a dispatch has time for. */
  const affordable = Math.max(1, dispatchSeconds * rate / Math.max(1, costOf(program).operations));
  const words = Math.min(
    temporaryBytes[software ? "software" : "hardware"],
    limits.maxStorageBufferBindingSize,
  ) / 4;
  const productRowSize = productRows.members.reduce((sum, { size }) => sum + size, 0);
  const atOnce = samples * Math.max(
    1,
    Math.floor(Math.min(
      workgroups,
      limits.maxComputeWorkgroupsPerDimension,
      words / samples / Math.max(spilled.size, productRowSize),
      affordable / samples,
    )),
  );
  const inner = Math.max(0, largest(totals.map(({ inner }) => inner)));
  const terms = adapter.maxIterations < Infinity ? maxTerms : Infinity;
  const stepsPerProduct = Math.floor(
    Math.min(steps, words / (atOnce * productRowSize), terms / (atOnce * inner)),
  );
  return {
    samples: Math.min(batch, atOnce),
    stepsPerProduct: Math.max(1, stepsPerProduct),
    steps: Math.max(1, Math.floor(affordable / atOnce)),
  };
}

/** Steps that a dispatch can run without taking more than so many iterations. */
export function stepsWithin({ sections: { before, step, after } }: WgslLoop, maxIterations: number): number {
  return Math.floor(
    (maxIterations - before.iterations.active - after.iterations.active - 1) / (1 + step.iterations.active),
  );
}

/** Whether a dispatch has iterations enough for any one kernel, and for passing by all others. */
export function canRunInParts(loop: WgslLoop, maxIterations: number): boolean {
  return kernelsOf(loop).every(({ active }) => active <= iterationsForKernels(loop, maxIterations));
}

function kernelsOf({ sections: { before, step, after } }: WgslLoop): Iterations[] {
  return [before, step, after].flatMap(({ kernels }) => kernels);
}

function iterationsForKernels(
  { sections: { before, step, after } }: WgslLoop,
  maxIterations: number,
): number {
  return maxIterations - [before, step, after].reduce((sum, { iterations }) => sum + iterations.idle, 0);
}

/** The dispatches for the steps from `start` to before `end`, of `steps` in all. */
export function* dispatchesOf(
  loop: WgslLoop,
  wholeSteps: boolean,
  { start, end, steps, maxSteps }: { start: number; end: number; steps: number; maxSteps: number },
  maxIterations: number,
): Generator<DispatchRange> {
  const kernels = kernelsOf(loop);
  if (wholeSteps) {
    const atOnce = Math.max(1, Math.min(maxSteps, stepsWithin(loop, maxIterations)));
    for (let firstStep = start; firstStep < end; firstStep += atOnce) {
      const count = Math.min(atOnce, end - firstStep);
      yield { firstKernel: 0, lastKernel: kernels.length, firstStep, count };
    }
    return;
  }
  const free = iterationsForKernels(loop, maxIterations);
  const rangesOf = function* (first: number, last: number, firstStep: number): Generator<DispatchRange> {
    for (let i = first, firstKernel = first, iterations = 0; i < last; i++) {
      iterations += kernels[i].active;
      if (i + 1 < last && iterations + kernels[i + 1].active <= free) continue;
      yield { firstKernel, lastKernel: i + 1, firstStep, count: 1 };
      [firstKernel, iterations] = [i + 1, 0];
    }
  };
  const { before, step } = loop.sections;
  const [begin, behind] = [before.kernels.length, before.kernels.length + step.kernels.length];
  if (start === 0) yield* rangesOf(0, begin, 0);
  for (let current = start; current < end; current++) yield* rangesOf(begin, behind, current);
  if (end === steps) yield* rangesOf(behind, kernels.length, end - 1);
}
