/**
 * Machines by name: the limits of their adapters, and the constants of estimates.
 * Weft has not run on these machines: all estimates use published figures.
 */

/** Limits of an adapter that determine layouts and dispatches. */
export type MachineLimits = Readonly<
  Record<
    | "maxBufferSize"
    | "maxStorageBufferBindingSize"
    | "maxStorageBuffersPerShaderStage"
    | "maxUniformBufferBindingSize"
    | "minUniformBufferOffsetAlignment"
    | "maxComputeWorkgroupStorageSize"
    | "maxComputeInvocationsPerWorkgroup"
    | "maxComputeWorkgroupSizeX"
    | "maxComputeWorkgroupSizeY"
    | "maxComputeWorkgroupSizeZ"
    | "maxComputeWorkgroupsPerDimension",
    number
  >
>;

/** Constants of a GPU for estimates of time. Latencies are in clock cycles. */
export interface MachineRates {
  /** Scalar float32 operations per second; a multiplication with an addition counts twice. */
  readonly arithmetic: number;
  /** Bytes per second of the GPU's memory. */
  readonly memory: number;
  /** Bytes per second of the last cache. */
  readonly cache: number;
  /** Bytes of the last cache. */
  readonly cacheSize: number;
  /** Compute units: streaming multiprocessors of NVIDIA, dual subslices of Intel. */
  readonly units: number;
  /** Cycles per second. */
  readonly clock: number;
  /** Instructions per cycle of a unit, for one invocation each. */
  readonly lanes: number;
  /** Invocations that run in lockstep. */
  readonly subgroup: number;
  /** Invocations that a unit holds at the same time. */
  readonly residentInvocations: number;
  /** Workgroups that a unit holds at the same time. */
  readonly residentWorkgroups: number;
  /** Bytes of workgroup memory of a unit. */
  readonly workgroupMemory: number;
  /** Bytes of the cache of a unit, including its workgroup memory. */
  readonly unitCache: number;
  /** Cycles until the result of an addition, of a read, or the end of a barrier. */
  readonly latency: {
    readonly arithmetic: number;
    readonly workgroupMemory: number;
    readonly unitCache: number;
    readonly cache: number;
    readonly memory: number;
    readonly barrier: number;
  };
  /** Seconds between the starts of two dispatches that depend on each other. */
  readonly launch: number;
  /** Share of the arithmetic rate that a large matrix product reaches. */
  readonly products: number;
}

/** A GPU: the limits of its adapter, and the constants of its estimates if they are known. */
export interface Machine {
  /** Name in texts. */
  readonly name: string;
  /** Limits of the adapter. */
  readonly limits: MachineLimits;
  /** Constants for estimates. Without them, layouts and counts have no estimate. */
  readonly rates?: MachineRates;
  /** Whether the CPU emulates the GPU. */
  readonly software?: boolean;
}

/** The default limits of WebGPU (section 3.6.2 of the specification): every adapter has them. */
export const defaultLimits: MachineLimits = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxStorageBuffersPerShaderStage: 8,
  maxUniformBufferBindingSize: 2 ** 16,
  minUniformBufferOffsetAlignment: 256,
  maxComputeWorkgroupStorageSize: 16 * 1024,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535,
};

/**
 * NVIDIA H100 SXM5. Units, clock, rates, sizes: "NVIDIA H100 Tensor Core GPU Architecture" (white paper, 2022), tables 1 to 3.
 * Latencies: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture" (2024), and Jia et al., "Dissecting the
 * NVIDIA Volta GPU Architecture" (2018) for arithmetic. Limits: NVIDIA's Vulkan driver. Assumed: the bandwidth of the L2 cache
 * (published figures range from 5 to 9 TB/s), the barrier, the launch, and the share of the peak that products reach.
 */
const h100: Machine = {
  name: "NVIDIA H100 SXM",
  limits: {
    ...defaultLimits,
    maxBufferSize: 2 ** 32 - 4,
    maxStorageBufferBindingSize: 2 ** 32 - 4,
    maxStorageBuffersPerShaderStage: 16,
    maxComputeWorkgroupStorageSize: 48 * 1024,
    maxComputeInvocationsPerWorkgroup: 1024,
    maxComputeWorkgroupSizeX: 1024,
    maxComputeWorkgroupSizeY: 1024,
  },
  rates: {
    arithmetic: 6.69e13,
    memory: 3.35e12,
    cache: 5.5e12,
    cacheSize: 50 * 2 ** 20,
    units: 132,
    clock: 1.98e9,
    lanes: 128,
    subgroup: 32,
    residentInvocations: 2048,
    residentWorkgroups: 32,
    workgroupMemory: 228 * 1024,
    unitCache: 256 * 1024,
    latency: { arithmetic: 4, workgroupMemory: 29, unitCache: 41, cache: 263, memory: 479, barrier: 30 },
    launch: 8e-6,
    products: 0.2,
  },
};

/**
 * Intel Iris Xe (96 execution units), an integrated GPU. Units, clock, rates, sizes: "Intel Processor Graphics Xe-LP"
 * (2020); memory: LPDDR4X-4267, two channels of 64 bits. Latencies, the cache's bandwidth and the launch are assumed.
 */
const irisXe: Machine = {
  name: "Intel Iris Xe",
  limits: {
    ...defaultLimits,
    maxBufferSize: 2 ** 31,
    maxStorageBufferBindingSize: 2 ** 30,
    maxStorageBuffersPerShaderStage: 16,
    maxComputeWorkgroupStorageSize: 32 * 1024,
    maxComputeInvocationsPerWorkgroup: 1024,
    maxComputeWorkgroupSizeX: 1024,
    maxComputeWorkgroupSizeY: 1024,
  },
  rates: {
    arithmetic: 2.07e12,
    memory: 6.8e10,
    cache: 2e11,
    cacheSize: 3.75 * 2 ** 20,
    units: 6,
    clock: 1.35e9,
    lanes: 128,
    subgroup: 16,
    residentInvocations: 1792,
    residentWorkgroups: 16,
    workgroupMemory: 128 * 1024,
    unitCache: 192 * 1024,
    latency: { arithmetic: 4, workgroupMemory: 40, unitCache: 60, cache: 200, memory: 400, barrier: 60 },
    launch: 2e-5,
    products: 0.2,
  },
};

/**
 * NVIDIA GeForce RTX 3060, a small discrete GPU. Units, clock, rates, sizes: "NVIDIA Ampere GA102 GPU Architecture" (white paper,
 * 2020) and the data sheet of the card. Latencies: those of the A100 by Luo et al. The launch is assumed.
 */
const rtx3060: Machine = {
  name: "NVIDIA GeForce RTX 3060",
  limits: { ...h100.limits, maxBufferSize: 2 ** 31, maxStorageBufferBindingSize: 2 ** 31 - 4 },
  rates: {
    arithmetic: 1.27e13,
    memory: 3.6e11,
    cache: 1.5e12,
    cacheSize: 3 * 2 ** 20,
    units: 28,
    clock: 1.78e9,
    lanes: 128,
    subgroup: 32,
    residentInvocations: 1536,
    residentWorkgroups: 16,
    workgroupMemory: 100 * 1024,
    unitCache: 128 * 1024,
    latency: { arithmetic: 4, workgroupMemory: 29, unitCache: 38, cache: 262, memory: 466, barrier: 30 },
    launch: 8e-6,
    products: 0.2,
  },
};

/** Name of a machine of {@linkcode machines}. */
export type MachineName = "h100" | "rtx-3060" | "iris-xe" | "default-limits";

/** All machines by name. `default-limits` is an adapter with the least limits that WebGPU allows, without rates. */
export const machines: Readonly<Record<MachineName, Machine>> = {
  "h100": h100,
  "rtx-3060": rtx3060,
  "iris-xe": irisXe,
  "default-limits": { name: "WebGPU's default limits", limits: defaultLimits },
};

/** Words in the descriptions of adapters. The first match gives the rates. Other GPUs have the rates of an integrated GPU. */
const similarMachines: readonly (readonly [description: RegExp, machine: Machine])[] = [
  [/\bh[12]00\b/i, h100],
  [/nvidia|geforce|quadro|radeon (rx|pro)|\barc\b/i, rtx3060],
];

/** The machine of an adapter: its own limits, with the rates of the most similar known machine. */
export function machineOf(
  { info: { description, software }, limits }: {
    readonly info: { readonly description: string; readonly software: boolean };
    readonly limits: MachineLimits;
  },
): Machine & { readonly rates: MachineRates } {
  const [, { rates }] = similarMachines.find(([words]) => words.test(description)) ?? ["", irisXe];
  return { name: description, limits, software, rates: rates! };
}
