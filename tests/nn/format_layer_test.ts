import assert from "node:assert/strict";
import { GRU, key, layer, LayerNorm, Linear, MLP, Sequential, type Tensor } from "../../mod.ts";

Deno.test("a model prints its layers and the shapes of its parameters", () => {
  const model = Sequential(
    MLP({ inputs: 2, outputs: 3, width: 4, depth: 1, key: key(0) }),
    (x: Tensor) => x.relu(),
    LayerNorm({ features: 3 }),
  );
  const expected = [
    "Layer with 33 parameters",
    "  0",
    "    layers",
    "      0",
    "        weight float32 (4, 2)",
    "        bias float32 (4,)",
    "      1",
    "        weight float32 (3, 4)",
    "        bias float32 (3,)",
    "  2",
    "    weight float32 (3,)",
    "    bias float32 (3,)",
  ].join("\n");
  assert.equal(`${model}`, expected);
  assert.equal(Deno.inspect(model), expected);
});

Deno.test("a model that has methods prints only its parameters", () => {
  assert.match(
    Deno.inspect(GRU({ inputs: 2, hidden: 3, key: key(0) })),
    /^Layer with \d+ parameters\n {2}\w+ float32/,
  );
});

Deno.test("a single parameter, and none, are printed", () => {
  const { weight } = Linear({ inputs: 2, outputs: 1, key: key(0) }).parameters;
  assert.equal(`${layer(weight, (x: Tensor) => x)}`, "Layer with 2 parameters\n  float32 (1, 2)");
  assert.equal(`${layer({}, (x: Tensor) => x)}`, "Layer with 0 parameters");
});
