/** Elements in every lane of a vector. */
import type { FunctionBuilder, Local } from "./wasm.ts";

/**
 * Sets `splat` to number `index` of `count` floats of `size` bytes in a row from an address on, in every lane. They are asked for in
 * order; of a row of which some are left out, `count` is 0. A load, whose address is checked, takes more of the processor's front,
 * and to spread out a lane, which `loaded` holds a vector of, shares the multipliers' ports: half of each was fastest.
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
