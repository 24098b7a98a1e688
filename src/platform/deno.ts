/** Deno. */
import { memoryWithin, nodeAbilities } from "./node.ts";
import type { Platform } from "./platform.ts";
import { tryAddressChecks, vectorsPerRegisterOf } from "./vectors_per_register.ts";

/** The Deno that runs Weft. Nothing here asks the user for a permission. */
export function deno(): Platform {
  return {
    ...nodeAbilities(),
    name: `Deno ${Deno.version.deno}`,
    architecture: Deno.build.arch,
    vectorsPerRegister: (kind) =>
      vectorsPerRegisterOf({
        arch: Deno.build.arch,
        checksAddresses: tryAddressChecks(),
        variable: readFlags(),
        isStandalone: Deno.build.standalone,
        trapsAddresses: false,
      }, kind),
    // Deno checks every address, so that 64-bit addresses cost nothing.
    prefersMemory64: true,
    webGpu: "Deno's WebGPU",
    dawn: { package: "npm:webgpu@0.6.2", needs: "--allow-ffi, --allow-read and --allow-env" },
    hasNativeLibraries: true,
    machineMemory,
  };
}

/** Flags that Deno passes to V8, if `--allow-env=DENO_V8_FLAGS` is granted. */
function readFlags(): string | undefined {
  const variable = "DENO_V8_FLAGS";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

function machineMemory(): number {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "systemMemoryInfo" });
  return state === "granted" ? memoryWithin(Deno.systemMemoryInfo().total) : Infinity;
}
