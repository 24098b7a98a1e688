/** WebGPU devices whose shaders or limits tests change. */
import assert from "node:assert/strict";
import { type Tensor, treeLeaves, type TypedArray } from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { setSchedule } from "../../src/compile/executors/choose_executor.ts";
import { chooseWorkgroup, type WorkgroupShape } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import { adapterOf } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import type { Run } from "../../src/compile/executors/run.ts";
import { describeRun } from "../../src/compile/inspect/describe_run.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { type DescribedAdapter, findAdapter } from "../../src/device/webgpu/adapter.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { withLayouts } from "../compile/check_loops.ts";
import { inOrder, type Order, orders, splitAtBarriers } from "./reorder.ts";
import { shared } from "./webgpu_tests.ts";

/** Changes of shaders and limits. */
export interface Changes {
  /** Edits the WGSL of each shader before it is compiled. */
  readonly edit?: (code: string) => string;
  /** Replaces limits of the adapter. They must not exceed those of the adapter. */
  readonly limits?: Partial<Record<keyof GPUSupportedLimits, number>>;
  /** Maximum number of workgroups per dispatch. */
  readonly maxWorkgroups?: number;
  /** Another name of the adapter. */
  readonly description?: string;
}

/** The adapter of the tests, with edited shaders or limits. */
export async function editedAdapter(
  { edit = (code) => code, limits = {}, description }: Changes,
): Promise<DescribedAdapter> {
  const adapter = (await findAdapter(shared!.implementation))!;
  const { gpu } = adapter;
  const edited = {
    info: gpu.info,
    features: gpu.features,
    limits: new Proxy(gpu.limits, {
      get: (target, name) => Reflect.get(limits, name) ?? Reflect.get(target, name, target),
    }),
    async requestDevice(descriptor: GPUDeviceDescriptor) {
      const device = await gpu.requestDevice(descriptor);
      const compile = device.createShaderModule.bind(device);
      device.createShaderModule = (given) => compile({ ...given, code: edit(given.code) });
      return device;
    },
  };
  return {
    ...adapter,
    gpu: edited as unknown as GPUAdapter,
    description: description ?? adapter.description,
  };
}

/** Opens a separate device for tests. */
export async function openEdited({ maxWorkgroups, ...changes }: Changes = {}): Promise<WebGpuDevice> {
  // The orders of work would move invocations to other places of a subgroup.
  return await openGpu({ maxWorkgroups, subgroups: false, adapter: await editedAdapter(changes) });
}

/** Runs `body` with a device per order of work, after a device without a change of the order. */
export async function withDevices<T>(
  { edit = (code) => code, ...rest }: Changes,
  body: (devices: readonly WebGpuDevice[]) => Promise<T>,
): Promise<T> {
  const open = (order: Order | undefined) =>
    openEdited({ ...rest, edit: (code) => inOrder(splitAtBarriers(edit(code)), order) });
  const devices = await Promise.all([undefined, ...orders].map(open));
  try {
    return await body(devices);
  } finally {
    for (const device of devices) device.destroy();
  }
}

/**
 * Runs `compute` on the devices of {@linkcode withDevices}.
 *
 * @returns The orders with another result than the first device.
 */
export async function ordersThatDiffer(
  devices: readonly WebGpuDevice[],
  compute: () => unknown,
  workgroup?: WorkgroupShape,
): Promise<Order[]> {
  const results: TypedArray[][] = [];
  for (const device of devices) {
    setCurrentDevice(device);
    let result: unknown;
    withShortDispatches(
      device,
      () => withHardwareLayouts(device, () => result = compute(), workgroup),
      workgroup,
    );
    results.push(await Promise.all(treeLeaves(result).map((leaf: Tensor) => leaf.data())));
  }
  const [expected, ...found] = results;
  assert.ok(expected.length > 0);
  return orders.filter((_, i) => !found[i].every((values, k) => hasEqualBits(values, expected[k])));
}

/** Whether the values have the same bits. */
export function hasEqualBits(a: TypedArray, b: TypedArray): boolean {
  const [words, others] = [a, b].map(({ buffer, byteOffset, length }) =>
    new Uint32Array(buffer, byteOffset, length)
  );
  return words.length === others.length && words.every((word, i) => word === others[i]);
}

/**
 * Maximum loop iterations of an invocation in a dispatch. {@linkcode splitAtBarriers} up to doubles their number, and llvmpipe
 * leaves all loops after 65,535.
 */
export const splitIterations = 28_000;

/** Runs the loops of `body` with layouts of hardware, in dispatches that llvmpipe completes with split barriers. */
export function withShortDispatches(
  device: WebGpuDevice,
  body: () => void,
  workgroup?: WorkgroupShape,
): void {
  const adapter = adapterOf(device);
  const share = ({ program, batch }: Run) =>
    workgroup ?? chooseWorkgroup(program, batch, { ...adapter, maxIterations: Infinity });
  withLayouts({ adapter: { ...adapter, maxIterations: splitIterations }, share }, body);
}

/**
 * Runs the loops of `body` as on hardware, in fused kernels: invocations share the elements of a sample and wait at barriers.
 * Software GPUs otherwise run each sample in one invocation, without barriers.
 *
 * @param workgroup Default: chosen from the shapes.
 */
export function withHardwareLayouts(
  device: WebGpuDevice,
  body: () => void,
  workgroup?: WorkgroupShape,
): void {
  const adapter = { ...adapterOf(device), maxIterations: Infinity };
  observeLoops((_, run, execute) => {
    const chosen = workgroup ?? chooseWorkgroup(run.program, run.batch, adapter);
    setSchedule(device, run, { executor: "fused", workgroup: chosen });
    assert.match(describeRun(execute, run), /^executor: fused/);
  }, body);
}
