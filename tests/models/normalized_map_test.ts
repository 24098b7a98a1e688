import assert from "node:assert/strict";
import { concatenate, key, LayerNorm, Linear, normal, splitKey, valueAndGrad } from "../../mod.ts";
import { normalizedMap } from "../../src/models/fast_weight/normalized_map.ts";

Deno.test("folding linear maps around a layer norm does not change results", async () => {
  const dtype = "float64";
  const keys = splitKey(key(0), 5);
  const first = Linear({ inputs: 3, outputs: 8, key: keys[0], dtype });
  const norm = LayerNorm({ features: 8, dtype });
  const second = Linear({ inputs: 8, outputs: 5, key: keys[1], dtype });
  for (const [i, x] of Object.values(norm.parameters).entries()) {
    x.assign(normal(keys[2 + i], [8], { dtype }));
  }
  const parameters = { first: first.parameters, norm: norm.parameters, second: second.parameters };
  const map = normalizedMap(first, norm, second);
  const x = normal(keys[4], [2, 6, 3], { dtype });
  const rows = () => x.reshape([12, 3]);
  const [all, alone, inOrder] = [
    () => map(x).reshape([12, 5]),
    () => concatenate(Array.from({ length: 12 }, (_, i) => map(rows().slice(0, i, i + 1)))),
    () => second(norm(first(rows()))),
  ].map((output) => valueAndGrad(() => output().sin().sum())({ x, ...parameters }));
  for (const [value, gradients] of [all, alone]) {
    assert.ok(await value.sub(inOrder[0]).abs().item() < 1e-12);
    const expected = inOrder[1];
    for (const layer of ["first", "norm", "second"] as const) {
      for (const name of ["weight", "bias"] as const) {
        const largest = await gradients[layer][name]!.sub(expected[layer][name]!).abs().max().item();
        assert.ok(largest < 1e-12, `the gradients of ${layer}.${name} differ by ${largest}`);
      }
    }
    assert.ok(await gradients.x.sub(expected.x).abs().max().item() < 1e-12);
  }
});
