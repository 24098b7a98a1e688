/** Small WARPs with perturbed parameters, and series for them. */
import assert from "node:assert/strict";
import {
  key,
  normal,
  splitKey,
  type Tensor,
  treeLeaves,
  WARP,
  type WARPModel,
  type WARPOptions,
} from "../../mod.ts";

/** Gradient checks need float64. */
export const dtype = "float64";
/** The sizes of most models in these tests. */
export const small = {
  inputChannels: 2,
  outputChannels: 2,
  root: { width: 3, depth: 1, activation: "tanh" },
} as const;

/** A model with perturbed parameters: initially A is the identity and B is zero. */
export function disturbed(options: Partial<WARPOptions>): WARPModel {
  const model = WARP({ ...small, key: key(0), dtype, ...options });
  const all = treeLeaves(model.parameters);
  splitKey(key(1), all.length).forEach((key, i) => {
    const noise = normal(key, all[i].shape, { standardDeviation: 0.1, dtype: all[i].dtype });
    all[i].assign(all[i].add(noise));
  });
  return model;
}

/** Series of two channels. */
export const x = normal(key(2), [2, 7, 2], { dtype });

/** The largest absolute difference of two tensors of one shape. */
export async function largestDifference(a: Tensor, b: Tensor): Promise<number> {
  assert.deepEqual(a.shape, b.shape);
  return await a.sub(b).abs().max().item();
}
