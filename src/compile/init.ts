/** Selection of the device of new tensors. The code of GPUs is loaded when it is needed. */
import { platform } from "../platform/current.ts";
import { OptionError } from "../device/errors.ts";
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { type DeviceChoice, deviceChoices } from "../device/choice.ts";
import { cpuDevice, currentDevice, setCurrentDevice } from "../device/current.ts";
import { checkFunction } from "../tensor/checks.ts";
import type { Device, KernelDevice } from "../device/device.ts";
import type { Implementation } from "../device/webgpu/adapter.ts";
import type { WebGpuDevice } from "../device/webgpu/device.ts";

/** Selection of the device of new tensors. */
export interface InitOptions {
  /**
   * `"auto"` (default): a hardware GPU, or the CPU if there is no GPU, whatever the model; runs of experiments choose by
   * the cost of a training step. `"webgpu"`: any adapter, including
   * software adapters; an adapter that uses OpenGL prints a warning. `"cpu"`: the CPU.
   *
   * @default {"auto"}
   */
  device?: DeviceChoice;
  /**
   * The WebGPU implementation: `"native"` (Deno's or the browser's, default) or `"dawn"` (Google's, through `npm:webgpu`, not in
   * browsers).
   */
  implementation?: "native" | "dawn";
  /**
   * Number of threads of the CPU device, from 1 to 64. Default: the number of processor threads. Results do
   * not depend on this number.
   */
  threads?: number;
  /**
   * A native library for large matrix products on the CPU: its path or name, or `"auto"` for an installed
   * OpenBLAS, MKL, BLIS or Apple Accelerate. It requires Deno and `--allow-ffi`. Results differ in the last bits from
   * results without the library, between libraries, and between numbers of threads. Default: no library.
   */
  blas?: string;
  /**
   * Maximum memory of the CPU device in bytes, above 1 MiB. More than 4 GiB, up to 16 GiB, need 64-bit addresses. They
   * make kernels slower in Node and in browsers. Default: up to 16 GiB in Deno, up to 4 GiB elsewhere.
   */
  memory?: number;
  /**
   * Address of the file `@weft/weft/worker`, for pages whose Content Security Policy forbids workers from blobs. The CPU device
   * starts its threads from it. Only browsers use it. Default: threads are started from a text.
   */
  worker?: string | URL;
}

const optionNames = namesOf<InitOptions>()("device? implementation? threads? blas? memory? worker?");

const choices = {
  device: deviceChoices,
  implementation: ["native", "dawn"],
};

/** Opened devices by implementation. Repeated calls return the same device. */
const gpus = new Map<Implementation, Promise<WebGpuDevice | undefined>>();

/**
 * Selects the device of new tensors. Existing tensors stay on their device.
 *
 * @example
 * ```ts
 * import { init } from "@weft/weft";
 *
 * const { info } = await init({ device: "cpu" });
 * console.log(info.description);
 * ```
 *
 * @returns The device. Repeated calls with the same options return the same device.
 * @throws {TypeError} If the options are not an object.
 * @throws {OptionError} If an option is unknown or invalid, or cannot be used: `threads` or `blas` for a GPU, `blas`
 * outside of Deno, `"dawn"` in a browser.
 * @throws {Error} If `"webgpu"` finds no adapter, or the BLAS is missing, invalid or not permitted. The message
 * says what to do.
 */
export async function init(options: InitOptions = {}): Promise<Device> {
  checkOptions("init", options, optionNames);
  const { device = "auto", implementation = "native", threads, blas, memory, worker } = options;
  check("device", device);
  check("implementation", implementation);
  const cpuOnly = 'leave it out, or choose device "cpu"';
  if (threads !== undefined && device === "webgpu") {
    throw unusable("threads", "threads is an option of the CPU device", cpuOnly);
  }
  if (blas !== undefined && device === "webgpu") {
    throw unusable("blas", "blas is an option of the CPU device", cpuOnly);
  }
  if (blas !== undefined && (typeof blas !== "string" || blas === "")) {
    throw invalid("blas", '"auto" or the path of a library', JSON.stringify(blas));
  }
  if (blas !== undefined && !platform.hasNativeLibraries) {
    throw unusable("blas", `${platform.name} cannot call the native library of blas`);
  }
  if (implementation === "dawn" && !platform.dawn) {
    throw unusable("implementation", `${platform.name} has its own WebGPU and cannot use Dawn`);
  }
  if (memory !== undefined && !(typeof memory === "number" && memory >= 2 ** 20)) {
    throw invalid("memory", "a number of bytes, at least 2 ** 20", describe(memory));
  }
  if (worker !== undefined && typeof worker !== "string" && !(worker instanceof URL)) {
    throw invalid("worker", "the address of a file", describe(worker));
  }
  const chosen = await choose(device, implementation, { threads, blas, memory, worker });
  setCurrentDevice(chosen);
  return chosen;
}

/** Error of an option that the device or the platform cannot use. */
function unusable(option: keyof InitOptions, reason: string, fix = "leave it out"): OptionError {
  return new OptionError("unusable-option", `init: ${reason}`, { option, fixes: [fix] });
}

/** Error of an option with a wrong value. */
function invalid(option: keyof InitOptions, expected: string, value: string): OptionError {
  return new OptionError("invalid-option", `init: ${option} must be ${expected}, got ${value}`, {
    option,
    expected,
  });
}

function check(option: keyof typeof choices, value: string): void {
  const valid: readonly string[] = choices[option];
  if (valid.includes(value)) return;
  const names = valid.map((choice) => `"${choice}"`).join(", ");
  throw new OptionError("invalid-option", `init: unknown ${option} "${value}"; valid: ${names}`, {
    option,
    expected: names,
  });
}

async function choose(
  device: DeviceChoice,
  implementation: Implementation,
  { threads, blas, memory, worker }: Pick<InitOptions, "threads" | "blas" | "memory" | "worker">,
): Promise<KernelDevice> {
  if (device !== "cpu") {
    const gpu = await openOnce(implementation, device === "auto");
    if (gpu) return gpu;
    if (device === "webgpu") {
      const { noAdapterMessage } = await import("../device/webgpu/adapter.ts");
      throw new Error(`init: ${noAdapterMessage(implementation)}`);
    }
  }
  const url = worker === undefined ? undefined : `${worker}`;
  const whyOneThread = threads === 1 ? undefined : await platform.whyNoThreads?.(url);
  const cpu = { threads: whyOneThread === undefined ? threads : 1, memory, worker: url, whyOneThread };
  if (blas === undefined) return cpuDevice(cpu);
  const { openBlas } = await import("../device/cpu/matmul/blas.ts");
  return cpuDevice({ ...cpu, blas: await openBlas(blas) }, blas);
}

/** The GPU that `"auto"` selects, or undefined without a hardware GPU. */
export function findHardwareGpu(): Promise<WebGpuDevice | undefined> {
  return openOnce("native", true);
}

/**
 * The GPU of an implementation, opened once. Undefined without an adapter, or if a hardware GPU is required
 * and the adapter is a software GPU.
 */
async function openOnce(
  implementation: Implementation,
  hardwareOnly: boolean,
): Promise<WebGpuDevice | undefined> {
  const open = async (before?: WebGpuDevice) => {
    if (before && !before.isLost) return before;
    const { findAdapter, openGlMessage } = await import("../device/webgpu/adapter.ts");
    const adapter = await findAdapter(implementation);
    if (!adapter || hardwareOnly && adapter.software) return undefined;
    if (adapter.openGl && !before) console.warn(`weft: the only GPU is ${openGlMessage(adapter)}`);
    const { openGpu } = await import("./executors/wgsl/open_gpu.ts");
    return await openGpu({ adapter });
  };
  // In sequence, so that concurrent calls do not open two devices.
  const opening = (gpus.get(implementation) ?? Promise.resolve(undefined)).then(open, () => open());
  gpus.set(implementation, opening);
  const gpu = await opening;
  return hardwareOnly && gpu?.info.software ? undefined : gpu;
}

/**
 * Runs a function with the CPU as the device of new tensors, whatever device {@linkcode init} chose, for example to generate
 * data in float64.
 *
 * @example
 * ```ts
 * import { odeint, onCpu, tensor } from "@weft/weft";
 *
 * const options = { method: "dopri5", rtol: 1e-10, atol: 1e-10 } as const;
 * const states = onCpu(() => odeint((_t, y) => y.neg(), tensor([1], { dtype: "float64" }), [0, 1], options));
 * console.log(await states.data()); // 1, and exp(-1)
 * ```
 *
 * @param body Synchronous function. When it returns, the device of new tensors is the previous one.
 * @returns The result of `body`. Its tensors stay on the CPU.
 */
export function onCpu<T>(body: () => T): T {
  checkFunction("onCpu", "body", body);
  const device = currentDevice();
  setCurrentDevice(cpuDevice());
  try {
    return body();
  } finally {
    setCurrentDevice(device);
  }
}
