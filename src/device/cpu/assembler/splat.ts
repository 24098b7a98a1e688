/** Elements that are copied to all lanes of a vector. */
import type { FunctionBuilder, Local } from "./wasm.ts";

/**
 * Sets all lanes of `splat` to element `index` of `count` consecutive floats of `size` bytes. Elements are
 * requested in order; if some are skipped, `count` is 0. There are two ways: a load with an address check
 * occupies the front end of the processor; copying a lane of the vector `loaded` occupies the ports of the
 * multipliers. Half of each was fastest.
 */
export function setSplat(
  f: FunctionBuilder,
  size: 4 | 8,
  splat: Local,
  loaded: Local,
  address: Local,
  index: number,
  count: number,
): void {
  const lanes = 16 / size;
  const lane = index % lanes;
  const offset = index * size;
  if (index - lane + lanes > count || lane >= lanes / 2) {
    return f.set(
      splat,
      () => f.load(size === 4 ? "v128.load32_splat" : "v128.load64_splat", address, offset),
    );
  }
  if (lane === 0) f.set(loaded, () => f.load("v128.load", address, offset));
  f.set(splat, () => {
    if (size === 4) f.shuffle32([lane, lane, lane, lane], loaded, loaded);
    else f.shuffle64([lane, lane], loaded, loaded);
  });
}
