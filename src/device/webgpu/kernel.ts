/** Compilation of WGSL to pipelines. */
import type { DType } from "../dtype.ts";
import { LruCache } from "../lru_cache.ts";
import type { Faults } from "./faults.ts";
import { computeStage } from "./flags.ts";

/** A compiled kernel. */
export interface Kernel {
  readonly name: string;
  /** Undefined until the kernel is compiled. */
  readonly pipeline?: GPUComputePipeline;
  /** Resolves when the kernel is compiled, or has an error. Undefined from then on. */
  readonly compiling?: Promise<void>;
  /** Compiles the kernel at once. */
  readonly compileNow: () => void;
  /** Layout of the bind group of the buffers. */
  readonly layout: GPUBindGroupLayout;
  /** See {@linkcode KernelSource}. */
  readonly access: string;
}

/** Source of a kernel with its bindings. */
export interface KernelSource {
  /** Name for messages. */
  readonly name: string;
  /**
   * WGSL code. The buffers are `@group(0)` with bindings from zero; the parameters are a uniform, `@group(1)
   * @binding(0)`. {@linkcode declare} writes these declarations.
   */
  readonly code: string;
  /** One letter per buffer: `r` read-only, `w` read and write, `u` uniform. */
  readonly access: string;
  /** Default: `main`. */
  readonly entryPoint?: string;
}

/** A buffer of a kernel. */
export interface Binding {
  readonly name: string;
  /** The WGSL type of the elements, or of the entire uniform. */
  readonly type: string;
  readonly access: "read" | "read_write" | "uniform";
}

/** The WGSL type of elements in memory. A `bool` has 32 bits. */
export function storageType(dtype: DType): "f32" | "i32" | "u32" {
  switch (dtype) {
    case "float32":
      return "f32";
    case "int32":
      return "i32";
    case "uint32":
    case "bool":
      return "u32";
    case "float64":
      throw new TypeError(
        "float64 is only available on the CPU: use float32, for example by .cast, or tensors made after " +
          'init({ device: "cpu" })',
      );
  }
}

/**
 * Declares buffers, and `params`, a struct of u32 fields. The last two fields are for dispatches of a part of the workgroups:
 * the first workgroup, and the number of all workgroups.
 */
function declare(bindings: readonly Binding[], params: readonly string[]): string {
  const buffers = bindings.map(({ name, type, access }, i) => {
    const variable = access === "uniform"
      ? `<uniform> ${name}: ${type}`
      : `<storage, ${access}> ${name}: array<${type}>`;
    return `@group(0) @binding(${i}) var${variable};`;
  });
  const fields = [...params, "first_workgroup", "workgroups"].map((name) => `  ${name}: u32,`);
  return [
    ...buffers,
    "struct Params {",
    ...fields,
    "}",
    "@group(1) @binding(0) var<uniform> params: Params;",
    "",
  ].join("\n");
}

/** The letters of {@linkcode KernelSource.access}. */
function accessOf(bindings: readonly Binding[]): string {
  const letters = { read: "r", read_write: "w", uniform: "u" };
  return bindings.map(({ access }) => letters[access]).join("");
}

/** Options of {@linkcode kernelSource}. */
interface SourceOptions {
  /** Default: `main`. */
  entryPoint?: string;
  /** Whether the code has operations of subgroups. */
  usesSubgroups?: boolean;
}

/** Combines declarations of buffers and parameters with code. */
export function kernelSource(
  name: string,
  bindings: readonly Binding[],
  params: readonly string[],
  pieces: readonly string[],
  { entryPoint, usesSubgroups = false }: SourceOptions = {},
): KernelSource {
  const code = [...usesSubgroups ? ["enable subgroups;"] : [], declare(bindings, params), ...pieces].join(
    "\n",
  );
  return { name, code, access: accessOf(bindings), entryPoint };
}

const bindingTypes = { r: "read-only-storage", w: "storage", u: "uniform" } as const;

/** Maximum number of cached kernels. */
const maximumKernels = 1024;

/** Compiles kernels, and caches the most recently used ones. */
export class KernelCache {
  readonly #device: GPUDevice;
  readonly #faults: Faults;
  readonly #paramsLayout: GPUBindGroupLayout;
  readonly #hint: string;
  readonly #inBackground: boolean;
  readonly #kernels = new LruCache<string, Kernel>(maximumKernels);
  readonly #layouts = new Map<string, { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout }>();
  #compiled = 0;
  /** Kernels that are being compiled in the background. */
  readonly #compiling = new Set<Promise<void>>();

  constructor(
    device: GPUDevice,
    faults: Faults,
    paramsLayout: GPUBindGroupLayout,
    { hint, inBackground }: { hint: string; inBackground: boolean },
  ) {
    this.#device = device;
    this.#inBackground = inBackground;
    this.#faults = faults;
    this.#paramsLayout = paramsLayout;
    this.#hint = hint;
  }

  /** Number of kernels compiled so far. */
  get compiled(): number {
    return this.#compiled;
  }

  /** Returns the kernel of a key. The key must determine the source. */
  get(key: string, source: () => KernelSource): Kernel {
    return this.#kernels.getOrMake(key, () => this.#compile(source()));
  }

  #compile({ name, code, access, entryPoint = "main" }: KernelSource): Kernel {
    this.#compiled++;
    const device = this.#device;
    const layout = this.#layout(access);
    const module = this.#check(name, () => device.createShaderModule({ label: name, code }));
    const descriptor = { label: name, layout: layout.pipeline, compute: { module, entryPoint } };
    const kernel: { -readonly [K in keyof Kernel]: Kernel[K] } = {
      name,
      layout: layout.group,
      access,
      compileNow: () => {
        kernel.pipeline ??= this.#check(name, () => device.createComputePipeline(descriptor));
        kernel.compiling = undefined;
      },
    };
    if (!this.#inBackground) {
      kernel.compileNow();
      return kernel;
    }
    // An error is found again, and reported, at once.
    const compiling = device.createComputePipelineAsync(descriptor)
      .then((pipeline) => void (kernel.pipeline ??= pipeline), () => {})
      .then(() => kernel.compileNow())
      .finally(() => this.#compiling.delete(compiling));
    this.#compiling.add(compiling);
    kernel.compiling = compiling;
    return kernel;
  }

  /** Resolves when no kernel is being compiled in the background. */
  async settled(): Promise<void> {
    while (this.#compiling.size > 0) await Promise.all(this.#compiling);
  }

  /** Calls a function of WebGPU. Errors of the compilation go to `Faults`. */
  #check<T>(name: string, make: () => T): T {
    const device = this.#device;
    device.pushErrorScope("validation");
    device.pushErrorScope("internal");
    const result = make();
    for (let scope = 0; scope < 2; scope++) {
      device.popErrorScope().then((error) => {
        if (!error) return;
        this.#faults.add(
          new Error(`kernel ${name} does not compile: ${error.message.trim()}\n${this.#hint}`),
        );
      }, () => {
        // The device is lost. `Faults` has the error.
      });
    }
    return result;
  }

  #layout(access: string): { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout } {
    let layout = this.#layouts.get(access);
    if (!layout) {
      const group = this.#device.createBindGroupLayout({
        entries: [...access].map((letter, binding) => ({
          binding,
          visibility: computeStage,
          buffer: { type: bindingTypes[letter as keyof typeof bindingTypes] },
        })),
      });
      const bindGroupLayouts = [group, this.#paramsLayout];
      layout = { group, pipeline: this.#device.createPipelineLayout({ bindGroupLayouts }) };
      this.#layouts.set(access, layout);
    }
    return layout;
  }
}
