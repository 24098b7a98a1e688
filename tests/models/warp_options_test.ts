import assert from "node:assert/strict";
import {
  Adam,
  arange,
  checkGradients,
  concatenate,
  DivergenceError,
  eye,
  flatten,
  full,
  key,
  leaves,
  linearFlow,
  linspace,
  meanSquaredError,
  normal,
  ones,
  sinePhase,
  split,
  type Tensor,
  tensor,
  uniform,
  valueAndGrad,
  WARP,
  type WARPCall,
  type WARPModel,
  type WARPOptions,
  zeros,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { Device } from "../../src/device/device.ts";
import { testOnBoth } from "../devices.ts";

const dtype = "float64";
const small = {
  inputChannels: 2,
  outputChannels: 2,
  root: { width: 3, depth: 1, activation: "tanh" },
} as const;

/** A model away from the start, at which A is the identity and B zero. */
function disturbed(options: Partial<WARPOptions>): WARPModel {
  const model = WARP({ ...small, key: key(0), dtype, ...options });
  const all = leaves(model.parameters);
  split(key(1), all.length).forEach((key, i) => {
    const noise = normal(key, all[i].shape, { standardDeviation: 0.1, dtype: all[i].dtype });
    all[i].assign(all[i].add(noise));
  });
  return model;
}

const x = normal(key(2), [2, 7, 2], { dtype });

async function largestDifference(a: Tensor, b: Tensor): Promise<number> {
  assert.deepEqual(a.shape, b.shape);
  return await a.sub(b).abs().max().item();
}

const designs: Record<string, Partial<WARPOptions>> = {
  "a recurrent mode": { mode: "recurrent" },
  "a convolutional mode": { mode: "convolutional" },
  "a chunked mode": { mode: "chunked" },
  "a learned first state": { initial: "learned", mode: "convolutional" },
  "logits": { output: "logits", outputChannels: 3 },
  "a normal output": { output: "normal" },
  "an encoding and the previous input": {
    root: { width: 3, depth: 2, activation: "silu", frequencies: 2, previousInput: true },
  },
  "sines in the root": { root: { width: 3, depth: 1, activation: "sine" } },
  "clipped weights": { clipWeights: 0.3 },
  "bounded predictions": { bound: { low: -0.1, high: 0.2 } },
  "a dynamic tanh": { bound: "dynamicTanh" },
  "a predicted phase": { physics: sinePhase(2) },
  "a predicted linear flow": { physics: linearFlow(2) },
  "a formula of one's own, with deviations": {
    output: "normal",
    physics: { parameters: 1, evaluate: (p, tau, first) => first.mul(p.mul(tau).neg().exp()) },
  },
  "a diagonal transition": { transition: "diagonal" },
  "a transition of blocks": { transition: { blocks: 2 } },
  "a transition of low rank": { transition: { rank: 4 } },
};
for (const [name, design] of Object.entries(designs)) {
  Deno.test(`gradients of a WARP with ${name} agree with central differences`, async () => {
    const model = disturbed(design);
    const outputs = () => [model(x, { states: "all" }), model(x, { states: "final" })];
    await checkGradients((_) => outputs(), [model.parameters], { elements: 3 });
  });
}

const feedings: Record<string, [Partial<WARPOptions>, WARPCall]> = {
  "its means": [{}, { context: 3 }],
  "its means beyond the observations": [{}, { context: 7, length: 10 }],
  "its means and some observations": [{}, { context: 1, pForcing: 0.5, key: key(3) }],
  "samples": [{ output: "normal" }, { context: 2, sample: true, key: key(3) }],
  "clipped predictions": [{ bound: { low: -0.1, high: 0.2 } }, { context: 3 }],
  "what a formula predicts": [{ physics: linearFlow(2) }, { context: 3 }],
};
for (const [name, [design, call]] of Object.entries(feedings)) {
  Deno.test(`gradients of a WARP that is fed ${name} agree with central differences`, async () => {
    const model = disturbed(design);
    await checkGradients((_) => model(x, call), [model.parameters], { elements: 3 });
  });
}

Deno.test("a WARP whose observations are all given predicts as one that is not fed back", async () => {
  const model = disturbed({});
  assert.ok(await largestDifference(model(x, { context: 7 }), model(x)) < 1e-14);
  const forced = model(x, { context: 1, pForcing: 1, key: key(0) });
  assert.ok(await largestDifference(forced, model(x)) < 1e-14);
});

Deno.test("what comes after the context does not matter", async () => {
  const model = disturbed({});
  const changed = x.add(arange(7, { dtype }).greaterEqual(4).cast(dtype).reshape([1, 7, 1]));
  const y = model(x, { context: 4 });
  assert.equal(await largestDifference(model(changed, { context: 4 }), y), 0);
  assert.ok(await largestDifference(model(changed, { context: 5 }), y) > 1e-3);
  assert.equal(await largestDifference(model(x.slice(1, 0, 4), { context: 4, length: 7 }), y), 0);
});

Deno.test("a fed sample is the mean and the deviation times a standard normal number", async () => {
  const model = disturbed({ output: "normal" });
  const pair = x.slice(1, 0, 2);
  const y = model(pair, { context: 1, sample: true, key: key(4) });
  const first = y.slice(1, 0, 1);
  const noise = normal(split(key(4))[1], [2, 1, 2], { dtype });
  const sample = first.slice(-1, 0, 2).add(first.slice(-1, 2).mul(noise));
  assert.ok(await largestDifference(y, model(concatenate([pair.slice(1, 0, 1), sample], 1))) < 1e-14);
  assert.ok(await largestDifference(y, model(pair, { context: 1, sample: true, key: key(5) })) > 1e-6);
});

Deno.test("pForcing draws for each series and step whether an observation is fed", async () => {
  // A root network that puts out the input which it was fed last.
  const root = { width: 1, depth: 0, previousInput: true };
  const model = WARP({ ...small, root, initial: "learned", key: key(0), dtype });
  model.parameters.initial.theta!.assign(tensor([0, 1, 0, 0, 0, 1, 0, 0], { dtype }));
  const observed = normal(key(1), [40, 50, 2], { dtype });
  const y = model(observed, { context: 1, pForcing: 0.3, key: key(9) });
  const isFed = y.equal(observed).slice(1, 1).at(2, 0).cast(dtype);
  const share = await isFed.mean().item();
  assert.ok(Math.abs(share - 0.3) < 0.05, `${share}`);
  const [ofSteps, ofSeries] = [await isFed.mean(0).data(), await isFed.mean(1).data()];
  for (const shares of [ofSteps, ofSeries]) {
    assert.ok(Math.min(...shares) < share && Math.max(...shares) < 0.8, `${shares}`);
  }
});

Deno.test("the final state is the last of all, in every mode", async () => {
  for (const mode of ["auto", "recurrent", "convolutional", "chunked"] as const) {
    const model = disturbed({ mode });
    assert.ok(await largestDifference(model(x, { states: "final" }), model(x).at(1, -1)) < 1e-13, mode);
  }
});

Deno.test("a series of one observation is read out at time zero", async () => {
  const model = disturbed({});
  const single = x.slice(1, 0, 1);
  assert.equal(await largestDifference(model(single), model.decode(model.weights(single), 0)), 0);
  assert.equal(await largestDifference(model(single).at(1, 0), model(single, { states: "final" })), 0);
});

Deno.test("decoding the states along a series gives its outputs", async () => {
  for (
    const design of [{}, { root: { width: 3, depth: 1, previousInput: true } }, { physics: linearFlow(2) }]
  ) {
    const model = disturbed(design);
    const tau = arange(7, { dtype }).div(6).expandDims(1);
    const decoded = model.decode(model.weights(x), tau, { input: x, first: x.slice(1, 0, 1) });
    assert.ok(await largestDifference(decoded, model(x)) < 1e-14);
  }
});

Deno.test("a run that starts from the last state of another goes on with it", async () => {
  const model = disturbed({});
  const whole = model.weights(x);
  // The first input of the second part is the last one of the first, so that no change is lost.
  const second = model.weights(x.slice(1, 3), { start: whole.at(1, 3) });
  assert.ok(await largestDifference(second, whole.slice(1, 3)) < 1e-14);
});

Deno.test("weights are clipped after each step", async () => {
  const model = disturbed({ clipWeights: 0.2 });
  const weights = model.weights(x).slice(1, 1).abs();
  assert.equal(await weights.max().item(), 0.2);
  assert.throws(() => WARP({ ...small, key: key(0), clipWeights: 1, mode: "convolutional" }), /not linear/);
});

Deno.test("a deviation is above its bound", async () => {
  const model = disturbed({ output: "normal", leastDeviation: 0.25 });
  model.parameters.B.assign(model.parameters.B.mul(1000));
  const least = await model(x).slice(-1, 2).min().item();
  assert.ok(least >= 0.25 && least < 0.26, `${least}`);
});

for (const mode of ["recurrent", "convolutional", "chunked"] as const) {
  Deno.test(`states beyond the limit are reported with the step, in the ${mode} mode`, () => {
    const model = WARP({ ...small, key: key(0), mode, limit: 100, initial: "learned" });
    const theta = model.parameters.initial.theta!;
    theta.assign(full(theta.shape, 1));
    (model.parameters.A as Tensor).assign(eye(model.stateSize).mul(1.1));
    // 1.1^48 = 97 and 1.1^49 = 107: the step from state 48 to 49, counted from zero.
    const calls: WARPCall[] = [{}, { states: "final" }, { context: 3 }];
    for (const call of calls) {
      const isFound = (error: unknown) => error instanceof DivergenceError && error.step === 48;
      assert.throws(() => model(zeros([3, 80, 2]), call), isFound);
      model(zeros([3, 49, 2]), call);
    }
    const unlimited = WARP({ ...small, key: key(0), mode, limit: Infinity });
    (unlimited.parameters.A as Tensor).assign(eye(model.stateSize).mul(1e30));
    unlimited(ones([1, 9, 2]));
  });
}

Deno.test("options that contradict each other are refused", () => {
  const model = WARP({ ...small, key: key(0) });
  const y = ones([2, 5, 2]);
  assert.throws(() => model(ones([2, 5, 3])), /x of shape \(2, 5, 3\), expected \(batch, length, 2\)/);
  assert.throws(() => model(y, { context: 6 }), /a context of 6 observations of a series of 5/);
  assert.throws(() => model(y, { context: 1, pForcing: 2, key: key(0) }), /pForcing is 2/);
  assert.throws(() => model(y, { context: 1, pForcing: 0.5 }), /need a key/);
  assert.throws(() => model(y, { context: 1, sample: true, key: key(0) }), /output: "normal"/);
  assert.throws(() => model(y, { start: ones([2, 3]) }), /expected \(2, 14\), a state a series/);
  assert.throws(() => WARP({ ...small, clipWeights: -1, key: key(0) }), /clipWeights is -1/);
  assert.throws(() => WARP({ ...small, limit: NaN, key: key(0) }), /limit is NaN/);
  assert.throws(() => WARP({ ...small, bound: { low: 1, high: 0 }, key: key(0) }), /bound.low is 1/);
  assert.throws(() => WARP({ ...small, leastDeviation: -1, key: key(0) }), /leastDeviation is -1/);
  assert.throws(() => WARP({ ...small, transition: { rank: 15 }, key: key(0) }), /rank is 15.*14 weights/);
  const classifier = WARP({ ...small, output: "logits", key: key(0) });
  assert.throws(() => classifier(y, { context: 2 }), /only predictions of the input can be fed back/);
  assert.throws(
    () => WARP({ ...small, transition: { blocks: 4 }, key: key(0) }),
    /does not divide the state's 14/,
  );
});

testOnBoth("WARP gives the same outputs and gradients in every mode", async (cpu, webgpu) => {
  const calls: [Partial<WARPOptions>, WARPCall][] = [
    [{ mode: "convolutional", output: "logits" }, {}],
    [{ mode: "chunked" }, {}],
    [{ mode: "convolutional", initial: "learned" }, { states: "all" }],
    [{ output: "normal", bound: "dynamicTanh" }, { context: 2, sample: true, pForcing: 0.3, key: key(3) }],
  ];
  const results = async (device: Device) => {
    setCurrentDevice(device);
    const found: Float32Array[] = [];
    for (const [design, call] of calls) {
      const model = disturbed({ ...design, dtype: "float32" });
      const series = normal(key(2), [2, 40, 2]);
      found.push(await model(series, call).data() as Float32Array);
      const [, gradients] = valueAndGrad(() => model(series, call).square().mean())(model.parameters);
      for (const [, x] of flatten(gradients)) found.push(await x.data() as Float32Array);
    }
    return found;
  };
  const [expected, found] = [await results(cpu), await results(webgpu)];
  found.forEach((values, i) => {
    const scale = expected[i].reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-3);
    values.forEach((value, at) => {
      assert.ok(
        Math.abs(value - expected[i][at]) <= 1e-4 * scale,
        `array ${i}: ${value}, ${expected[i][at]}`,
      );
    });
  });
});

Deno.test("WARP learns to continue a sine wave", async () => {
  const phases = uniform(key(1), [32, 1, 1]);
  const wave = linspace(0, 1, 16).reshape([1, 16, 1]).add(phases).mul(2 * Math.PI).sin();
  const model = WARP({
    ...small,
    inputChannels: 1,
    outputChannels: 1,
    root: { width: 8, depth: 1 },
    key: key(0),
  });
  const optimizer = Adam(model.parameters, { learningRate: 3e-3 });
  const step = valueAndGrad(() =>
    meanSquaredError(model(wave, { context: 4 }).slice(1, 0, -1), wave.slice(1, 1))
  );
  const losses: number[] = [];
  for (let i = 0; i < 150; i++) {
    const [loss, gradients] = step(model.parameters);
    optimizer.step(gradients);
    if (i === 0 || i === 149) losses.push(await loss.item());
  }
  assert.ok(losses[1] < 0.1 * losses[0], `${losses}`);
});
