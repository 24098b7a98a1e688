/** Advice about settings that make training on the CPU faster. */
import type { DeviceInfo } from "../device/device.ts";
import type { ParameterTree } from "../nn/layer.ts";
import { treeLeaves } from "../tensor/tree.ts";

/** The line suggests a native BLAS if a weight has at least this number of rows and of columns. */
const wide = 256;

/**
 * Returns a line about the settings that would make training faster, and what they cost. Returns undefined on a
 * GPU, and if every setting that helps is in use.
 *
 * @param arch Architecture of the processor. V8 has the switches on x86-64 only. Deno cannot read whether the
 * processor has AVX2.
 */
export function speedHint(
  { kind, arithmetic }: Pick<DeviceInfo, "kind" | "arithmetic">,
  parameters: ParameterTree,
  arch: string = Deno.build.arch,
): string | undefined {
  if (kind !== "cpu") return undefined;
  const isWide = treeLeaves(parameters).some(({ rank, shape }) =>
    rank === 2 && shape.every((n) => n >= wide)
  );
  const settings = [
    ...arch === "x86_64" && arithmetic.vectors === "128 bits"
      ? [
        "set DENO_V8_FLAGS=--experimental-wasm-revectorize,--no-wasm-bounds-checks for 256-bit vectors " +
        "(about 0.6 of the time with AVX2; WebAssembly's address checks are off)",
      ]
      : [],
    ...isWide && arithmetic["large products"] === "Weft"
      ? ["use a native BLAS with --blas auto (needs --allow-ffi; native code is not sandboxed)"]
      : [],
  ];
  return settings.length === 0
    ? undefined
    : `for faster training, ${settings.join("; ")}; see docs/guides/cpu_speed.md`;
}
