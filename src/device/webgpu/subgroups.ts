/**
 * Subgroups: invocations of a workgroup that run in lockstep and exchange values without shared memory and barriers
 * (WebGPU's feature `subgroups`).
 */
import type { Gpu } from "./gpu.ts";
import { type Binding, type KernelSource, kernelSource } from "./kernel.ts";

const bindings: readonly Binding[] = [{ name: "output", type: "u32", access: "read_write" }];

/** Writes the place of each invocation of a workgroup in its subgroup, beside the size of the subgroup. */
function probeKernel(size: number): KernelSource {
  return kernelSource("subgroup probe", bindings, [], [`
@compute @workgroup_size(${size})
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_invocation_id) place: u32,
  @builtin(subgroup_size) size: u32,
) {
  output[2u * local] = place;
  output[2u * local + 1u] = size;
}`], { usesSubgroups: true });
}

/**
 * The number of consecutive invocations that are in one subgroup on every GPU of an adapter: a power of two; 1 if the adapter has no
 * subgroups, or numbers their invocations in another order, which WGSL leaves open.
 *
 * @param workgroup Invocations of a workgroup, a power of two.
 */
export async function findSubgroupLanes(gpu: Gpu, workgroup: number): Promise<number> {
  const { subgroupMinSize = 1 } = gpu.adapter.gpu.info as { subgroupMinSize?: number };
  if (!gpu.device.features.has("subgroups" as GPUFeatureName) || subgroupMinSize < 2) return 1;
  const output = gpu.temporary([2 * workgroup], "uint32");
  gpu.run({
    key: "subgroup probe",
    source: () => probeKernel(workgroup),
    buffers: [output.memory],
    words: [],
    workgroups: 1,
    operations: workgroup,
    shapes: [output.shape],
  });
  const reading = gpu.commands.read([{ memory: output.memory, offset: 0, size: 8 * workgroup }]);
  gpu.pool.release(output.memory);
  const places = new Uint32Array((await reading)[0]);
  const isConsecutive = places.every((value, i) =>
    i % 2 === 1 ? value >= subgroupMinSize : value === (i / 2) % places[i + 1]
  );
  return isConsecutive ? Math.min(subgroupMinSize, workgroup) : 1;
}
