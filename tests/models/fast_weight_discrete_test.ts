/** Discrete-time fast weight models, compared with their equations. */
import assert from "node:assert/strict";
import {
  Adam,
  bernoulli,
  clipByGlobalNorm,
  DeltaNet,
  key,
  LatentODERFWP,
  LatentODERNN,
  type Layer,
  LinearTransformer,
  loadParameters,
  normal,
  ODERFWP,
  RecurrentFWP,
  stack,
  type Tensor,
  tensor,
  tidy,
  treeFlatten,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { testLong, testOnDevices } from "../devices.ts";
import { countLoops } from "../loops.ts";
import { apply, assertSame, network } from "./fast_weight_network.ts";

const f64 = { dtype: "float64" } as const;
const sizes = { inputChannels: 3, modelDim: 6, heads: 2, outputChannels: 2, key: key(0), ...f64 } as const;
const [batch, length, headDim] = [2, 5, 3];
const x = normal(key(1), [batch, length, 3], f64);

/** Float32 numbers from any device, compared with float64 numbers. */
async function assertNear(found: Tensor, expected: Tensor, tolerance = 1e-4) {
  const values = await expected.data();
  (await found.data()).forEach((value, i) => {
    assert.ok(Math.abs(value - values[i]) <= tolerance * Math.max(1, Math.abs(values[i])), `element ${i}`);
  });
}

/** The linear maps of a model with one layer. */
function mapsOf(model: Parameters<typeof network>[0]) {
  const { linear, norm, has } = network(model);
  /** The block after the answers, with a residual `past` that bypasses the fast weights. */
  const block = (answers: Tensor, past?: Tensor) => {
    const projected = linear("layers.0.output", answers);
    const x = past ? projected.add(past) : projected;
    const inner = linear("layers.0.feedForward.layers.0", norm("layers.0.feedForward.norm", x)).relu();
    return linear("layers.0.feedForward.layers.1", inner).add(x);
  };
  return { linear, norm, has, block };
}

const inHeads = (x: Tensor) => x.reshape([batch, 2, x.shape[1] / 2]);
const outer = (v: Tensor, k: Tensor) => v.expandDims(-1).mul(k.expandDims(-2));

type Net = ReturnType<typeof mapsOf>;

/** Keys, values, raw rates and queries of one element. `fed` is the feedback after tanh. */
function signals({ linear, norm, has }: Net, row: Tensor, fed?: Tensor) {
  const features = norm("layers.0.inputNorm", linear("layers.0.input", row));
  const with_ = (name: string) => {
    const projected = linear(`layers.0.${name}`, features);
    const feedback = `layers.0.feedback.${name}`;
    return inHeads(fed && has(feedback) ? projected.add(linear(feedback, fed)) : projected);
  };
  const emitted = with_("slow");
  return {
    k: emitted.slice(-1, 0, headDim).softmax(),
    v: emitted.slice(-1, headDim, 2 * headDim),
    beta: emitted.slice(-1, 2 * headDim),
    q: with_("query").softmax(),
  };
}

const equations: Record<string, (net: Net) => Tensor> = {
  DeltaNet(net) {
    let w = zeros([batch, 2, headDim, headDim], f64);
    return inSteps((row) => {
      const { k, v, beta, q } = signals(net, row);
      w = w.add(outer(beta.sigmoid().mul(v.sub(apply(w, k))), k));
      return apply(w, q).flatten(-2);
    });
  },
  LinearTransformer(net) {
    let w = zeros([batch, 2, headDim, headDim], f64);
    return inSteps((row) => {
      const { k, v, q } = signals(net, row);
      w = w.add(outer(v, k));
      return apply(w, q).flatten(-2);
    });
  },
  RecurrentFWP(net) {
    let w = zeros([batch, 2, headDim, headDim], f64);
    let y = zeros([batch, 6], f64);
    return inSteps((row) => {
      const { k, v, beta, q } = signals(net, row, y.tanh());
      w = w.add(outer(beta.sigmoid().mul(v.sub(apply(w, k))), k));
      return y = apply(w, q).flatten(-2);
    });
  },
};

function inSteps(step: (row: Tensor) => Tensor): Tensor {
  return stack(Array.from({ length }, (_, i) => step(x.select(1, i))), 1);
}

const models = { DeltaNet, LinearTransformer, RecurrentFWP };
for (const [name, make] of Object.entries(models)) {
  Deno.test(`${name} agrees with its equations`, async () => {
    const model = make(sizes);
    const net = mapsOf(model);
    const features = net.block(equations[name](net), net.linear("layers.0.input", x));
    await assertSame(model(x, { states: "all" }), net.linear("readout", features));
  });

  Deno.test(`${name} is causal and reads each series at its last row`, async () => {
    const model = make({ ...sizes, layers: 2 });
    const all = model(x, { states: "all" });
    await assertSame(model(x.slice(1, 0, 3), { states: "all" }), all.slice(1, 0, 3));
    const lengths = tensor([2, length], { dtype: "int32" });
    await assertSame(
      model(x, { lengths }),
      stack([all.select(0, 0).select(0, 1), all.select(0, 1).select(0, length - 1)]),
    );
    await assertSame(model(x), all.select(1, -1));
  });

  const expected = make({ ...sizes, layers: 2 })(x);
  testOnDevices(`${name} runs as one compiled loop per layer`, async () => {
    const model = make({ ...sizes, dtype: "float32", layers: 2 });
    const input = normal(key(1), [batch, length, 3]);
    assert.equal(countLoops(() => model(input), "forward loop: 5 steps"), 2);
    await assertNear(model(input), expected);
  });
}

const gaps = tensor([0, 0.4, 1.5, 0.2, 0.7], f64);
const recurrent = { ...sizes, width: 4, depth: 0 };
const { outputChannels: _, ...latent } = recurrent;

/** Sets the vector field of a model without hidden layers to dh/dt = -h. */
function decay(model: { parameters: Layer["parameters"] }) {
  const parameters = Object.fromEntries(treeFlatten(model.parameters));
  const name = "layers.0.vectorField.layers.0";
  const weight = tensor(Array.from({ length: 36 }, (_, i) => i % 7 === 0 ? -1 : 0), {
    shape: [6, 6],
    ...f64,
  });
  loadParameters(model.parameters, {
    ...parameters,
    [`${name}.weight`]: weight,
    [`${name}.bias`]: zeros([6], f64),
  });
}

/**
 * A layer of an ODE-RFWP: at each observation the delta rule updates W and the block computes the answer.
 *
 * @param before The previous answer after the equation was solved up to observation i.
 * @param after The answer to observation i after the equation was solved from there.
 */
function writtenOut(
  net: ReturnType<typeof mapsOf>,
  before: (h: Tensor, i: number) => Tensor,
  after: (h: Tensor, i: number) => Tensor = (h) => h,
): Tensor {
  let w = zeros([batch, 2, headDim, headDim], f64);
  let h = zeros([batch, 6], f64);
  const states = Array.from({ length }, (_, i) => {
    const { k, v, beta, q } = signals(net, x.select(1, i), before(h, i).tanh());
    w = w.add(outer(beta.sigmoid().mul(v.tanh().sub(apply(w, k))), k));
    return h = after(net.block(apply(w, q).flatten(-2)), i);
  });
  return net.linear("readout", stack(states, 1));
}

Deno.test("an ODE-RFWP's state follows its equation between observations and drives an update at each", async () => {
  const model = ODERFWP({ ...recurrent, stepsPerGap: 20 });
  decay(model);
  const net = mapsOf(model);
  const passed = await gaps.data();
  const expected = writtenOut(net, (h, i) => h.mul(Math.exp(-passed[i])));
  await assertSame(model(x, { gaps, states: "all" }), expected, 1e-6);
  assert.equal(countLoops(() => model(x, { gaps }), "forward loop: 5 steps"), 1);
});

Deno.test("with the authors' option, the query of an ODE-RFWP depends on the observation only", async () => {
  const model = ODERFWP({ ...recurrent, queryFeedback: false });
  const net = mapsOf(model);
  assert.ok(net.has("layers.0.feedback.slow") && !net.has("layers.0.feedback.query"));
  const zeroGaps = gaps.zerosLike();
  await assertSame(model(x, { gaps: zeroGaps, states: "all" }), writtenOut(net, (h) => h));
});

// Few stages, because software GPUs take seconds to compile more.
const quick = { ...recurrent, method: "euler" } as const;
const expected = ODERFWP(quick)(x, { gaps });
testOnDevices("an ODE-RFWP gives the same outputs in float32 and float64", async () => {
  const [input, passed] = [normal(key(1), [batch, length, 3]), tensor([0, 0.4, 1.5, 0.2, 0.7])];
  await assertNear(ODERFWP({ ...quick, dtype: "float32" })(input, { gaps: passed }), expected);
});

Deno.test("the error of adaptive steps between observations is within the tolerances", async () => {
  const tolerances = { method: "dopri5", rtol: 1e-5, atol: 1e-6 } as const;
  const [fine, found] = [{ stepsPerGap: 50 }, tolerances].map((choice) => {
    const model = ODERFWP({ ...recurrent, depth: 1, ...choice });
    return model(x, { gaps, states: "all" });
  });
  await assertSame(found, fine, 1e-5);
});

Deno.test("an update before the equation gives states at the time of the next row", async () => {
  const model = ODERFWP({ ...recurrent, update: "before", stepsPerGap: 20 });
  decay(model);
  const net = mapsOf(model);
  const passed = await gaps.data();
  const expected = writtenOut(net, (h) => h, (h, i) => h.mul(Math.exp(i + 1 < length ? -passed[i + 1] : 0)));
  await assertSame(model(x, { gaps, states: "all" }), expected, 1e-6);
});

Deno.test("a latent model predicts each row from earlier rows, for updates before and after the equation", async () => {
  for (const update of ["before", "after"] as const) {
    const models = [
      LatentODERFWP({ ...latent, update }),
      LatentODERNN({ inputChannels: 3, hiddenChannels: 4, width: 4, depth: 1, update, key: key(0), ...f64 }),
    ];
    for (const model of models) {
      // With an encoder of zeros the initial state does not depend on the rows.
      const silent = treeFlatten(model.parameters).map(([name, x]) =>
        [name, name.startsWith("encoder") ? x.zerosLike() : x] as const
      );
      loadParameters(model.parameters, Object.fromEntries(silent));
      const changed = stack(
        Array.from({ length }, (_, i) => i === 3 ? x.select(1, i).add(1) : x.select(1, i)),
        1,
      );
      const difference = model(x, { gaps }).sub(model(changed, { gaps })).abs().max([0, 2]);
      const isChanged = await difference.greater(1e-6).cast("int32").data();
      assert.deepEqual([...isChanged], [0, 0, 0, 0, 1]);
    }
  }
});

Deno.test("an ODE-RFWP rejects tolerances with fixed steps, and unknown methods", () => {
  assert.throws(() => ODERFWP({ ...recurrent, rtol: 1e-3 }), /rtol and atol do not apply to rk4/);
  assert.throws(
    () => ODERFWP({ ...recurrent, method: "explicit_adams" }),
    /ODERFWP: method "explicit_adams" has neither fixed steps, as rk4, nor adaptive steps, as dopri5/,
  );
});

Deno.test("an ODE-RFWP rejects gaps and masks without one entry per row", () => {
  const model = ODERFWP(quick);
  assert.throws(
    () => model(x, { gaps: gaps.slice(0, 1) }),
    /gaps of shape \(4,\), expected \(5,\) or \(2, 5\)/,
  );
  assert.throws(() => model(x, { gaps, observed: tensor([true]) }), /ODERFWP: observed of shape \(1,\)/);
});

Deno.test("without an observation, an ODE-RFWP only solves its equation", async () => {
  const model = ODERFWP({ ...recurrent, method: "euler" });
  const observed = tensor([[true, true, false, true, true], [true, true, true, true, true]]);
  const without = (x: Tensor) => stack([0, 1, 3, 4].map((i) => x.select(-1, i)), -1);
  const zero = Object.entries(Object.fromEntries(treeFlatten(model.parameters))).map(([name, x]) =>
    [name, name.includes("vectorField") ? x.zerosLike() : x] as const
  );
  loadParameters(model.parameters, Object.fromEntries(zero));
  const shorter = stack([0, 1, 3, 4].map((i) => x.select(1, i)), 1);
  const found = model(x, { gaps, observed });
  await assertSame(found.slice(0, 0, 1), model(shorter, { gaps: without(gaps) }).slice(0, 0, 1));
  await assertSame(found.slice(0, 1), model(x, { gaps }).slice(0, 1));
});

Deno.test("a latent ODE-RFWP forecasts NaN rows from its state", async () => {
  const model = LatentODERFWP(latent);
  decay(model);
  const withFuture = stack(
    [...[0, 1, 2].map((i) => x.select(1, i)), ...[3, 4].map((i) => x.select(1, i).mul(NaN))],
    1,
  );
  const predicted = model(withFuture, { gaps });
  assert.deepEqual(predicted.shape, [batch, length, 3]);
  // With dh/dt = -h the decoded state decays to the decoder's bias by exp(-gap). The last gap is 0.7.
  const bias = new Map<string, Tensor>(treeFlatten(model.parameters)).get("decoder.bias")!;
  const [before, after] = [3, 4].map((i) => predicted.select(1, i).sub(bias));
  await assertSame(after, before.mul(Math.exp(-0.7)), 1e-2);
  assert.ok(await before.abs().max().item() > 1e-3);
});

testLong("a latent ODE-RFWP learns to predict waves with half of the values missing", async () => {
  const [series, points] = [32, 12];
  const phases = normal(key(5), [series, 1, 1]).mul(3);
  const times = tensor(Array.from({ length: points }, (_, i) => 0.5 * i)).reshape([1, points, 1]);
  const waves = times.add(phases).sin();
  const observed = bernoulli(key(6), 0.5, waves.shape).where(waves, NaN);
  const gaps = tensor([0, ...new Array<number>(points - 1).fill(0.5)]);
  const options = {
    inputChannels: 1,
    modelDim: 16,
    heads: 2,
    feedForward: 16,
    width: 16,
    depth: 1,
    noise: 0.2,
  };
  const model = LatentODERFWP({ ...options, key: key(7) });
  const optimizer = Adam(model.parameters, { learningRate: 0.01 });
  const error = async () => await model(observed, { gaps }).sub(waves).square().mean().item();
  const before = await error();
  for (let step = 0; step < 60; step++) {
    tidy(() => {
      const [, gradients] = valueAndGrad(() => model.loss(observed, { gaps, key: key(100 + step) }))(
        model.parameters,
      );
      optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
    });
  }
  const after = await error();
  assert.ok(after < 0.25 * before, `${before} to ${after}`);
});
