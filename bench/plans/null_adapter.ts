/**
 * An adapter that accepts all commands of WebGPU and computes nothing, for layouts and counts without a GPU. Everything read
 * from it is zero.
 */
import type { DescribedAdapter } from "../../src/device/webgpu/adapter.ts";
import type { MachineLimits } from "./machines.ts";

/** Commands that an adapter without a GPU accepted. */
export interface CommandCounts {
  /** Dispatches by the label of their pipeline. */
  readonly dispatches: Map<string, number>;
  /** Workgroups of the last dispatch by the label of its pipeline. */
  readonly workgroups: Map<string, number>;
  passes: number;
  submissions: number;
  copies: number;
}

/** An adapter without a GPU. */
export interface NullAdapter extends DescribedAdapter {
  readonly counts: CommandCounts;
  /** The device: the same object as the result of `adapter.requestDevice`. */
  readonly device: GPUDevice;
}

/** Makes an adapter with the limits and the description of a machine. */
export function nullAdapter(description: string, limits: MachineLimits, software = false): NullAdapter {
  const counts: CommandCounts = {
    dispatches: new Map(),
    workgroups: new Map(),
    passes: 0,
    submissions: 0,
    copies: 0,
  };
  const device = nullDevice(limits, counts);
  const adapter = {
    limits,
    features: new Set<string>(),
    info: { vendor: "", architecture: "", device: "", description, isFallbackAdapter: software },
    requestDevice: () => Promise.resolve(device),
  };
  return {
    gpu: adapter as unknown as GPUAdapter,
    implementation: "native",
    description,
    software,
    openGl: false,
    counts,
    device,
  };
}

/** The part of `GPUDevice` that Weft calls. */
function nullDevice(limits: MachineLimits, counts: CommandCounts): GPUDevice {
  const nothing = () => {};
  const object = () => ({});
  const pipeline = ({ label = "" }: { label?: string }) => ({ label, getBindGroupLayout: object });
  const beginComputePass = () => {
    counts.passes++;
    let label = "";
    return {
      setPipeline: (pipeline: { label: string }) => label = pipeline.label,
      setBindGroup: nothing,
      dispatchWorkgroups: (x: number, y = 1, z = 1) => {
        counts.dispatches.set(label, (counts.dispatches.get(label) ?? 0) + 1);
        counts.workgroups.set(label, x * y * z);
      },
      end: nothing,
    };
  };
  const copy = () => void counts.copies++;
  const device = {
    limits,
    features: new Set<string>(),
    lost: new Promise(nothing),
    addEventListener: nothing,
    removeEventListener: nothing,
    destroy: nothing,
    pushErrorScope: nothing,
    popErrorScope: () => Promise.resolve(null),
    createBuffer: ({ size }: { size: number }) => ({
      size,
      mapAsync: () => Promise.resolve(),
      getMappedRange: (_offset?: number, length = size) => new ArrayBuffer(length),
      unmap: nothing,
      destroy: nothing,
    }),
    createBindGroupLayout: object,
    createPipelineLayout: object,
    createBindGroup: object,
    createShaderModule: object,
    createQuerySet: object,
    createComputePipeline: pipeline,
    createComputePipelineAsync: (descriptor: { label?: string }) => Promise.resolve(pipeline(descriptor)),
    createCommandEncoder: () => ({
      beginComputePass,
      copyBufferToBuffer: copy,
      clearBuffer: copy,
      resolveQuerySet: nothing,
      finish: object,
    }),
    queue: {
      writeBuffer: nothing,
      submit: () => void counts.submissions++,
      onSubmittedWorkDone: () => Promise.resolve(),
    },
  };
  return device as unknown as GPUDevice;
}
