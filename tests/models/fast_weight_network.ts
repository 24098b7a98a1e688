/** Helpers for tests that implement the equations of fast weight models. */
import assert from "node:assert/strict";
import { type Layer, type Tensor, treeFlatten } from "../../mod.ts";

export async function assertSame(found: Tensor, expected: Tensor, tolerance = 1e-12) {
  assert.deepEqual(found.shape, expected.shape);
  const difference = await found.sub(expected).abs().max().item();
  assert.ok(difference <= tolerance, `differs by ${difference}`);
}

/** W k for each head. */
export const apply = (w: Tensor, k: Tensor) => w.matmul(k.expandDims(-1)).squeeze(-1);

/** Parameters by name, and the linear maps and layer norms that use them. */
export function network({ parameters }: Pick<Layer<unknown[]>, "parameters">) {
  const tensors = new Map<string, Tensor>(treeFlatten(parameters));
  const linear = (name: string, x: Tensor) => {
    const product = x.matmul(tensors.get(`${name}.weight`)!.mT);
    const bias = tensors.get(`${name}.bias`);
    return bias ? product.add(bias) : product;
  };
  const norm = (name: string, x: Tensor) => {
    const centred = x.sub(x.mean(-1, { keepDims: true }));
    const scaled = centred.div(centred.square().mean(-1, { keepDims: true }).add(1e-5).sqrt());
    return scaled.mul(tensors.get(`${name}.weight`)!).add(tensors.get(`${name}.bias`)!);
  };
  return { linear, norm, has: (name: string) => tensors.has(`${name}.weight`) };
}
