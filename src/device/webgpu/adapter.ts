/** Finding a GPU. */
import { loadDawn } from "./dawn.ts";

/** A WebGPU implementation: Deno's own, or Google's Dawn through `npm:webgpu`. */
export type Implementation = "native" | "dawn";

/** An adapter and what is known of it. */
export interface FoundAdapter {
  readonly adapter: GPUAdapter;
  readonly implementation: Implementation;
  /** The adapter in words. */
  readonly description: string;
  /** Whether the processor does the work of a GPU. */
  readonly software: boolean;
  /** Whether WebGPU reaches it through OpenGL, for want of a Vulkan driver. */
  readonly openGl: boolean;
}

const softwareNames = /llvmpipe|lavapipe|softpipe|swrast|swiftshader|basic render|software/i;

/** The adapter that an implementation prefers, if it finds any. */
export async function findAdapter(implementation: Implementation): Promise<FoundAdapter | undefined> {
  // Absent where there is no WebGPU, whatever the types say.
  const gpu = implementation === "dawn" ? await loadDawn() : navigator.gpu as GPU | undefined;
  const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return undefined;
  const { vendor, architecture, description, device } = adapter.info;
  const words = [vendor, architecture, description || device].filter((word) => /[a-z]/i.test(word));
  const { isFallbackAdapter } = adapter as { isFallbackAdapter?: boolean };
  const openGl = isOpenGl(adapter);
  return {
    adapter,
    implementation,
    openGl,
    description: `${words.join(" ")}${openGl ? " through OpenGL" : ""}, ${
      implementationNames[implementation]
    }`,
    software: adapter.info.isFallbackAdapter || isFallbackAdapter === true ||
      softwareNames.test(words.join(" ")),
  };
}

/** OpenGL tells no number of the device and no sizes of subgroups, so that WebGPU gives the widest range of these. */
function isOpenGl({ info }: GPUAdapter): boolean {
  return info.device === "0" && info.subgroupMinSize === 4 && info.subgroupMaxSize === 128;
}

const implementationNames = { native: "Deno's WebGPU", dawn: "Dawn" };

/** Message for a machine on which no adapter is found, with remedies. */
export function noAdapterMessage(implementation: Implementation): string {
  const other = otherImplementation(implementation);
  return `${
    implementationNames[implementation]
  } finds no GPU. Install the driver of your GPU; without a GPU, a software ` +
    "Vulkan (Debian and Ubuntu: apt install mesa-vulkan-drivers). Or try " +
    `init({ device: "webgpu", implementation: "${other}" }), or init({ device: "cpu" })`;
}

/** Message for an adapter that is reached through OpenGL, with remedies. */
export function openGlMessage({ description, software }: FoundAdapter): string {
  const [drawback, driver] = software
    ? [
      "a kernel can take minutes to compile",
      "a software Vulkan (Debian and Ubuntu: apt install mesa-vulkan-drivers)",
    ]
    : ["kernels are slower than through Vulkan", "your GPU's Vulkan driver"];
  return `${description}: ${drawback}. Install ${driver}, or use init({ device: "cpu" })`;
}

/** Advice for a failure of one implementation. */
export function failureHint(implementation: Implementation): string {
  const other = otherImplementation(implementation);
  return `This ran on ${implementationNames[implementation]}; if the fault is there, try ` +
    `init({ device: "webgpu", implementation: "${other}" }), or init({ device: "cpu" }).`;
}

function otherImplementation(implementation: Implementation): Implementation {
  return implementation === "native" ? "dawn" : "native";
}
