import assert from "node:assert/strict";
import {
  CausalAttention,
  checkGradients,
  concatenate,
  key,
  normal,
  stack,
  type Tensor,
  tensor,
  Transformer,
  TransformerForecaster,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { longOnSoftware, testLong, testOnDevices } from "../devices.ts";
import { assertClose, makeWaves, wave } from "../golden.ts";
import { countLoops } from "../loops.ts";

const float64 = { dtype: "float64" } as const;
const sizes = { modelDim: 4, heads: 2, feedForward: 6, key: key(0) };
const model = (options: { dropout?: number; layers?: number } = {}) =>
  Transformer({ ...sizes, ...options, inputChannels: 3, outputChannels: 2, ...float64 });
const forecaster = (options: { leastDeviation?: number; time?: boolean } = {}) =>
  TransformerForecaster({ ...sizes, channels: 2, ...options, ...float64 });
const largest = async (x: Tensor) => await x.abs().max().item();

Deno.test("a Transformer agrees with PyTorch's TransformerEncoder, gradients included", async () => {
  const transformer = makeWaves(model());
  const output = () => transformer(wave(40, [2, 5, 3]), { states: "all" });
  const data = [
    0.457767435911,
    -0.639437276165,
    0.303494680265,
    -0.432617484768,
    0.220189358302,
    -0.361172965774,
    0.097537673149,
    -0.297524226603,
    0.058927129214,
    -0.314098532598,
    0.407145377844,
    -0.54281871138,
    0.433731782953,
    -0.588218478109,
    0.190408662825,
    -0.340303327836,
    0.185147976502,
    -0.336624575549,
    0.341559085666,
    -0.658113891581,
  ];
  await assertClose("output", output(), { shape: [2, 5, 2], data }, 1e-11);
  const [, gradients] = valueAndGrad(() => output().square().sum())(transformer.parameters);
  const norms = treeFlatten(gradients).map(([_, x]) => x.square().sum().sqrt());
  const expected = [
    0.6501044894,
    3.2620282913,
    2.9955171507,
    2.6694036201,
    2.8979409468,
    2.8958755907,
    1.3362781436,
    1.8682355263,
    2.4503551005,
    2.7895289118,
    1.8583928109,
    3.4639138681,
    0.7372628647,
    3.3029996875,
    1.8426293812,
    3.1526747711,
    2.1383091267,
    3.1180767054,
    1.4031315782,
    1.935981582,
    2.8753132515,
    3.2565294631,
    1.062083201,
    2.6788761129,
    3.3622875911,
    9.6263077352,
    8.4471864737,
    10.5102637264,
  ];
  await assertClose("norms of gradients", stack(norms), { shape: [28], data: expected }, 1e-9);
});

Deno.test("the parameters of a Transformer's layer have PyTorch's names", () => {
  const names = treeFlatten(model({ layers: 1 }).parameters).map(([name]) => name);
  assert.deepEqual(names.filter((name) => name.startsWith("layers.0.")).map((name) => name.slice(9)), [
    ...["self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight"],
    ...["self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"],
    ...["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"],
  ]);
});

Deno.test("a Transformer is causal and reads each series at its last row", async () => {
  const x = normal(key(1), [2, 6, 3], float64);
  const all = model()(x, { states: "all" });
  const other = concatenate([x.slice(1, 0, 4), x.slice(1, 4).add(1)], 1);
  assert.ok(await largest(model()(other, { states: "all" }).sub(all).slice(1, 0, 4)) < 1e-14);
  const ends = model()(x, { lengths: tensor([4, 6], { dtype: "int32" }) });
  assert.ok(
    await largest(ends.sub(stack([all.select(0, 0).select(0, 3), all.select(0, 1).select(0, 5)]))) < 1e-14,
  );
});

Deno.test("dropout is applied only with a key and depends on the key", async () => {
  const x = normal(key(1), [2, 6, 3], float64);
  const transformer = model({ dropout: 0.5 });
  assert.equal(await largest(transformer(x, { key: key(3) }).sub(transformer(x, { key: key(3) }))), 0);
  assert.ok(await largest(transformer(x, { key: key(3) }).sub(transformer(x, { key: key(4) }))) > 1e-3);
  assert.equal(await largest(transformer(x).sub(model()(x))), 0);
});

testLong("the gradients of a Transformer agree with central differences", async () => {
  const transformer = model();
  const x = normal(key(1), [2, 4, 3], float64);
  await checkGradients((_) => transformer(x, { states: "all" }), [transformer.parameters], { elements: 3 });
  await checkGradients((x: Tensor) => transformer(x), [x], { elements: 6 });
});

testLong("the gradients of an autoregressive Transformer agree with central differences", async () => {
  const transformer = forecaster({ leastDeviation: 1e-4, time: true });
  const x = normal(key(1), [2, 5, 2], float64);
  const call = { context: 2, sample: true, key: key(5) };
  await checkGradients((_) => transformer(x, call), [transformer.parameters], { elements: 2 });
});

Deno.test("a Transformer gives the same outputs row by row, in a compiled loop, and at once", async () => {
  const transformer = forecaster({ time: true });
  const x = normal(key(1), [3, 6, 2], float64);
  const free = transformer(x, { context: 3 });
  assert.equal(countLoops(() => transformer(x, { context: 3 })), 1);
  // With its predictions given as observations, the model predicts the same values.
  const observed = concatenate([x.slice(1, 0, 3), free.slice(1, 2, 5)], 1);
  assert.equal(countLoops(() => transformer(observed, { context: 6 })), 0);
  assert.ok(await largest(transformer(observed, { context: 6 }).sub(free)) < 1e-12);
  assert.equal(
    await largest(transformer(x, { forcing: 1, key: key(2) }).sub(transformer(x, { context: 6 }))),
    0,
  );
});

const exact = forecaster()(normal(key(1), [3, 6, 2], float64), { context: 2 });
testOnDevices("a Transformer gives the same forecasts in float32 and float64", longOnSoftware, async () => {
  const transformer = TransformerForecaster({ ...sizes, channels: 2 });
  const found = await transformer(normal(key(1), [3, 6, 2]), { context: 2 }).data();
  const expected = await exact.data();
  found.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) < 1e-4, `${value}, not ${expected[i]}`)
  );
});

Deno.test("a Transformer rejects invalid sizes", () => {
  const make = (options: object) =>
    Transformer({ ...sizes, inputChannels: 3, outputChannels: 2, ...options });
  assert.throws(() => make({ modelDim: 5 }), /modelDim is 5, expected an even number/);
  assert.throws(() => make({ heads: 3 }), /3 heads do not divide 4 features/);
  assert.throws(() => make({ layers: 0 }), /layers is 0/);
  const attention = CausalAttention({ features: 4, heads: 2, key: key(0) });
  assert.throws(
    () => attention(normal(key(0), [2, 4])),
    /x of shape \(2, 4\), expected \(batch, length, 4\)/,
  );
});
