import assert from "node:assert/strict";
import { GRU, key, layer, LayerNorm, Linear, MLP, Sequential, summary, type Tensor } from "../../mod.ts";
import { displayOf, rowsOf } from "../display.ts";

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

Deno.test("a notebook shows a model as a table of layers with their numbers of parameters", async () => {
  const model = MLP({ inputs: 2, outputs: 3, width: 4, depth: 1, key: key(0) });
  const bundle = await displayOf(summary(model.parameters));
  assert.equal(bundle["text/plain"], `${model}`);
  assert.equal(`${summary(model.parameters)}`, `${model}`);
  assert.match(bundle["text/html"], /^<div class="weft"><p>Layer with 27 parameters<\/p>/);
  assert.deepEqual(rowsOf(bundle["text/html"]), [
    ["name", "shape", "type", "parameters"],
    ["layers", "", "", "27"],
    ["\u20030", "", "", "12"],
    ["\u2003\u2003weight", "(4, 2)", "float32", "8"],
    ["\u2003\u2003bias", "(4,)", "float32", "4"],
    ["\u20031", "", "", "15"],
    ["\u2003\u2003weight", "(3, 4)", "float32", "12"],
    ["\u2003\u2003bias", "(3,)", "float32", "3"],
  ]);
  assert.deepEqual(await displayOf(model), bundle);
});

Deno.test("the table counts a tensor with two names once per layer", async () => {
  const { weight } = Linear({ inputs: 2, outputs: 1, key: key(0) }).parameters;
  const tied = layer({ "<a>": { in: weight, out: weight } }, (x: Tensor) => x);
  const { "text/html": html } = await displayOf(summary(tied.parameters));
  assert.match(html, /Layer with 2 parameters/);
  assert.deepEqual(rowsOf(html)[1], ["&#60;a&#62;", "", "", "2"]);
});

Deno.test("summary rejects a model in place of its parameters", () => {
  const model = Linear({ inputs: 2, outputs: 1, key: key(0) });
  assert.throws(
    () => summary(model as never),
    /^TypeError: summary: got .*, expected tensors; pass model.parameters$/s,
  );
});
