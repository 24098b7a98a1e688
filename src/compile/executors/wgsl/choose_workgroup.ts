/** Sizes of workgroups. */
import { largest } from "../../../device/min_max.ts";
import { sizeOf } from "../../../device/shape.ts";
import { layOut } from "../../program/layout.ts";
import type { Program } from "../../program/program.ts";

/** Properties of an adapter that determine the layout of a program. */
export interface Adapter {
  /** Maximum loop iterations of an invocation in one dispatch. */
  readonly maxIterations: number;
  readonly limits: Pick<
    GPUSupportedLimits,
    | "maxStorageBuffersPerShaderStage"
    | "maxStorageBufferBindingSize"
    | "maxComputeWorkgroupsPerDimension"
    | "maxUniformBufferBindingSize"
    | "maxComputeWorkgroupStorageSize"
    | "maxComputeInvocationsPerWorkgroup"
  >;
}

/** Size of a workgroup. */
export interface WorkgroupShape {
  /** Samples per workgroup. */
  readonly samples: number;
  /** Invocations per sample. */
  readonly lanes: number;
}

/** Minimum invocations per workgroup: once or twice the subgroup size of most GPUs. */
const lockstep = 64;

const maxInvocations = 256;

/** Workgroup on a software GPU: its samples fill a vector register. */
const softwareWorkgroup: WorkgroupShape = { samples: 8, lanes: 1 };

/** Workgroups that a large GPU runs at the same time. In larger batches, samples of a workgroup share reads of weights. */
const concurrentWorkgroups = 256;

/** Maximum samples that share reads of weights: their sums are in registers. */
export const maxSharing = 8;

/** Maximum number of outputs of a product that an invocation computes at once: they share reads of the state. */
export const maxTileWidth = 8;

/** Chooses the samples of a workgroup and the invocations that share each. */
export function chooseWorkgroup(
  program: Program,
  batch: number,
  { maxIterations, limits }: Adapter,
): WorkgroupShape {
  // Barriers are slow on software GPUs. Samples with one invocation each need no barriers.
  if (maxIterations < Infinity) return softwareWorkgroup;
  const widest = Math.max(1, largest(sizesOf(program)));
  const most = Math.min(maxInvocations, limits.maxComputeInvocationsPerWorkgroup);
  const lanes = Math.min(most, 2 ** Math.ceil(Math.log2(widest)));
  const sharing = batch < 2 * concurrentWorkgroups || !readsMostlyWeights(program)
    ? 1
    : Math.min(maxSharing, batch / concurrentWorkgroups);
  const samples = 2 ** Math.floor(Math.log2(Math.max(sharing, Math.min(lockstep / lanes, batch))));
  return { samples, lanes: Math.min(lanes, most / samples) };
}

const mostlyWeights = new WeakMap<Program, boolean>();

/** Whether a step of a sample reads more weights than it has other values, which need more memory in larger workgroups. */
function readsMostlyWeights(program: Program): boolean {
  let result = mostlyWeights.get(program);
  if (result === undefined) {
    const weights = program.kernels.flatMap((kernel) =>
      kernel.kind === "contract" ? kernel.operands.filter(({ slot }) => slot === undefined) : []
    );
    const read = weights.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
    mostlyWeights.set(program, result = read > layOut(program).size);
  }
  return result;
}

/** Alternative workgroup shapes for tuning, with more or fewer samples and invocations. */
export function otherWorkgroups(program: Program, batch: number, adapter: Adapter): WorkgroupShape[] {
  const chosen = chooseWorkgroup(program, batch, adapter);
  const most = adapter.limits.maxComputeInvocationsPerWorkgroup;
  return [[1, 0.5], [1, 2], [2, 1], [2, 0.5], [4, 0.25], [1, 0.25]]
    .map(([more, longer]) => ({ samples: chosen.samples * more, lanes: chosen.lanes * longer }))
    .filter(({ samples, lanes }) =>
      lanes >= 1 && samples * lanes <= most && samples <= Math.max(batch, chosen.samples)
    );
}

/** Elements that each kernel computes, and that a step stores in each array. */
function sizesOf({ kernels, outputs, stepSums, next }: Program): number[] {
  const stored = kernels.flatMap((kernel) => kernel.kind === "accumulate" ? kernel.operands : []);
  const computed = kernels.flatMap((kernel) => kernel.output ?? []);
  return [...computed, ...stored, ...outputs, ...stepSums, ...next].map(({ shape }) => sizeOf(shape));
}
