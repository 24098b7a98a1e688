/** Finding a GPU. */
import { loadDawn } from "./dawn.ts";

/** Which WebGPU: Deno's own, or Google's Dawn through `npm:webgpu`. */
export type Implementation = "native" | "dawn";

/** An adapter and what is known of it. */
export interface FoundAdapter {
  readonly adapter: GPUAdapter;
  readonly implementation: Implementation;
  /** The adapter in words. */
  readonly description: string;
  /** Whether the processor does the work of a GPU. */
  readonly software: boolean;
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
  return {
    adapter,
    implementation,
    description: `${words.join(" ")}, ${implementationNames[implementation]}`,
    software: adapter.info.isFallbackAdapter || isFallbackAdapter === true ||
      softwareNames.test(words.join(" ")),
  };
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

/** Advice for a failure of one implementation. */
export function failureHint(implementation: Implementation): string {
  const other = otherImplementation(implementation);
  return `This ran on ${implementationNames[implementation]}; if the fault is there, try ` +
    `init({ device: "webgpu", implementation: "${other}" }), or init({ device: "cpu" }).`;
}

function otherImplementation(implementation: Implementation): Implementation {
  return implementation === "native" ? "dawn" : "native";
}
