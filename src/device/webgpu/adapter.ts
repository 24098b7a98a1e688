/** Selection of a GPU adapter. */
import { platform } from "../../platform/current.ts";
import { loadDawn } from "./dawn.ts";

/** A WebGPU implementation: `"native"` is that of Deno or of the browser, `"dawn"` is Google's, through `npm:webgpu`. */
export type Implementation = "native" | "dawn";

/** An adapter and its properties. */
export interface DescribedAdapter {
  readonly gpu: GPUAdapter;
  readonly implementation: Implementation;
  /** Name of the adapter. */
  readonly description: string;
  /** Whether the CPU emulates the GPU. */
  readonly software: boolean;
  /** Whether WebGPU uses OpenGL because there is no Vulkan driver. */
  readonly openGl: boolean;
}

const softwareNames = /llvmpipe|lavapipe|softpipe|swrast|swiftshader|basic render|software/i;

/** The preferred adapter of an implementation, or undefined without an adapter. */
export async function findAdapter(implementation: Implementation): Promise<DescribedAdapter | undefined> {
  // Undefined in a runtime without WebGPU, contrary to the type.
  const gpu = implementation === "dawn" ? await loadDawn() : navigator.gpu as GPU | undefined;
  const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return undefined;
  const { vendor, architecture, description, device } = adapter.info;
  const words = [vendor, architecture, description || device].filter((word) => /[a-z]/i.test(word));
  const { isFallbackAdapter } = adapter as { isFallbackAdapter?: boolean };
  const openGl = isOpenGl(adapter);
  return {
    gpu: adapter,
    implementation,
    openGl,
    description: `${words.join(" ")}${openGl ? " through OpenGL" : ""}, ${
      implementationNames[implementation]
    }`,
    software: adapter.info.isFallbackAdapter || isFallbackAdapter === true ||
      softwareNames.test(words.join(" ")),
  };
}

/** OpenGL reports neither a device number nor subgroup sizes, so WebGPU returns the widest range of sizes. */
function isOpenGl({ info }: GPUAdapter): boolean {
  return info.device === "0" && info.subgroupMinSize === 4 && info.subgroupMaxSize === 128;
}

const implementationNames = { native: platform.webGpu ?? "WebGPU", dawn: "Dawn" };

/** Message for a machine without an adapter, with remedies. */
export function noAdapterMessage(implementation: Implementation): string {
  const calls = alternatives(implementation);
  if (implementation === "native" && !platform.webGpu) return `${platform.name} has no WebGPU. Call ${calls}`;
  const remedy = platform.dawn
    ? "Install the driver of your GPU; without a GPU, a software Vulkan " +
      "(Debian and Ubuntu: apt install mesa-vulkan-drivers)"
    : "Permit hardware acceleration in the settings of the browser";
  return `${implementationNames[implementation]} finds no GPU. ${remedy}. Or call ${calls}`;
}

/** Message for an adapter that uses OpenGL, with remedies. */
export function openGlMessage({ description, software }: DescribedAdapter): string {
  const [drawback, driver] = software
    ? [
      "a kernel can take minutes to compile",
      "a software Vulkan (Debian and Ubuntu: apt install mesa-vulkan-drivers)",
    ]
    : ["kernels are slower than through Vulkan", "your GPU's Vulkan driver"];
  return `${description}: ${drawback}. Install ${driver}, or use init({ device: "cpu" })`;
}

/** Advice for errors of an implementation. */
export function failureHint(implementation: Implementation): string {
  const calls = alternatives(implementation);
  return `The error occurred on ${
    implementationNames[implementation]
  }. To try another device, call ${calls}.`;
}

/** Calls of `init` that select another available implementation, or the CPU. */
function alternatives(implementation: Implementation): string {
  const other = implementation === "native" ? "dawn" : "native";
  const exists = other === "native" ? platform.webGpu : platform.dawn;
  const gpu = exists ? `init({ device: "webgpu", implementation: "${other}" }), or ` : "";
  return `${gpu}init({ device: "cpu" })`;
}
