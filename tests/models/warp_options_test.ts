import assert from "node:assert/strict";
import {
  Adam,
  arange,
  checkGradients,
  concatenate,
  DivergenceError,
  eye,
  full,
  key,
  linearFlow,
  linspace,
  meanSquaredError,
  normal,
  ones,
  sinePhase,
  type Tensor,
  tensor,
  treeFlatten,
  uniform,
  valueAndGrad,
  WARP,
  type WARPCallOptions,
  type WARPOptions,
  zeros,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { KernelDevice } from "../../src/device/device.ts";
import { longOnSoftware, testLong, testOnBoth, testOnDevices } from "../devices.ts";
import { disturbed, dtype, largestDifference, small, x } from "./warp_model.ts";

const designs: Record<string, Partial<WARPOptions>> = {
  "a recurrent mode": { mode: "recurrent" },
  "a convolutional mode": { mode: "convolutional" },
  "a chunked mode": { mode: "chunked" },
  "a learned initial state": { initial: "learned", mode: "convolutional" },
  "logits": { output: "logits", outputChannels: 3 },
  "a normal output": { output: "normal" },
  "an encoding and the previous input": {
    root: { width: 3, depth: 2, activation: "silu", frequencies: 2, previousInput: true },
  },
  "sines in the root": { root: { width: 3, depth: 1, activation: "sine" } },
  "clipped weights": { clipWeights: 0.3 },
  "bounded predictions": { bound: { low: -0.1, high: 0.2 } },
  "a dynamic tanh": { bound: "dynamicTanh" },
  "a dynamic tanh of given scalars and channels": {
    bound: { a: 2, b: [0.1, -0.2], alpha: [1.5, 0.5], beta: 0.3 },
  },
  "an encoding of positions": {
    root: { width: 3, depth: 1, activation: "tanh", positions: { channels: 3, base: 5 } },
    trainingLength: 7,
  },
  "a fixed tau": { root: { width: 3, depth: 1, activation: "tanh", fixedTau: 0.3 } },
  "no root network": { root: "none", physics: sinePhase(2) },
  "no root network and a learned initial state": { root: "none", physics: linearFlow(2), initial: "learned" },
  "a channel of time": { time: true },
  "a longer training length": { trainingLength: 20, time: true },
  "the indices of the authors' code": { indexing: "code", time: true },
  "a predicted phase": { physics: sinePhase(2) },
  "a predicted linear flow": { physics: linearFlow(2) },
  "a predicted linear flow of channels of two sizes": { physics: linearFlow(2, [0.1, 5]) },
  "a custom formula with standard deviations": {
    output: "normal",
    physics: { parameters: 1, evaluate: (p, tau, first) => first.mul(p.mul(tau).neg().exp()) },
  },
  "a diagonal transition": { transition: "diagonal" },
  "a transition of planes": { transition: "planes" },
  "a transition of rotations": { transition: { initialization: "rotation" } },
  "a transition of blocks": { transition: { blocks: 2 } },
  "a transition of low rank": { transition: { rank: 4 } },
  "a transition of planes plus low rank": { transition: { diagonal: "planes", rank: 2 } },
};
for (const [name, design] of Object.entries(designs)) {
  testLong(`gradients of a WARP with ${name} agree with central differences`, async () => {
    const model = disturbed(design);
    const outputs = () => [model(x, { states: "all" }), model(x, { states: "final" })];
    await checkGradients((_) => outputs(), [model.parameters], { elements: 3 });
  });
}

Deno.test("a linear flow with given scales predicts in the units of the data", async () => {
  const tau = zeros([1], { dtype });
  const [entries, first, sizes] = [[1, 2, 3, 4], [0.2, 50], [0.1, 100]].map((row) => tensor(row, { dtype }));
  const scaled = linearFlow(2, [0.1, 100]).evaluate(entries, tau, first);
  const expected = linearFlow(2).evaluate(entries, tau, first.div(sizes)).mul(sizes);
  assert.ok(await largestDifference(scaled, expected) < 1e-12);
  assert.throws(() => linearFlow(2, [1]), RangeError);
});

Deno.test("with a time channel, B reads the time differences", async () => {
  const model = disturbed({ time: true });
  assert.deepEqual(model.parameters.B.shape, [model.stateSize, 3]);
  const [tau] = [arange(7, { dtype }).div(6).reshape([1, 7, 1]).broadcastTo([2, 7, 1])];
  const plain = disturbed({ inputChannels: 3 });
  plain.parameters.B.assign(model.parameters.B);
  (plain.parameters.A as Tensor).assign(model.parameters.A as Tensor);
  const start = model.weights(x).select(1, 0);
  const expected = plain.weights(concatenate([x, tau], 2), { start });
  assert.ok(await largestDifference(model.weights(x), expected) < 1e-14);
});

Deno.test("with a training length, tau exceeds 1 in longer series", async () => {
  const model = disturbed({ trainingLength: 4 });
  const states = model.weights(x);
  const decoded = model.decode(states, arange(7, { dtype }).div(3).expandDims(1));
  assert.ok(await largestDifference(model(x), decoded) < 1e-14);
  assert.ok(await largestDifference(model(x, { states: "final" }), decoded.select(1, 6)) < 1e-14);
  const short = x.slice(1, 0, 4);
  assert.ok(await largestDifference(model(short), disturbed({})(short)) < 1e-14);
});

Deno.test("positions are encoded as sines and cosines of the step", async () => {
  // A network without hidden layers whose weights select one feature each.
  const positions = { channels: 5, base: 10 };
  const root = { width: 1, depth: 0, positions };
  const model = WARP({
    ...small,
    inputChannels: 6,
    outputChannels: 6,
    root,
    trainingLength: 9,
    initial: "learned",
    key: key(0),
    dtype,
  });
  const theta = model.parameters.initial.theta!;
  theta.assign(concatenate([eye(6, { dtype }).flatten(), zeros([6], { dtype })]));
  const y = await model(zeros([1, 9, 6], { dtype })).select(0, 0).toArray() as number[][];
  y.forEach((features, t) => {
    const angles = [0, 2, 4].map((i) => t / 10 ** (i / 5));
    const expected = [t / 8, ...angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)])].slice(0, 6);
    features.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-12, `${t}, ${i}: ${value}`));
  });
});

Deno.test("with a fixed tau the root network is evaluated at that tau at every step", async () => {
  const model = disturbed({ root: { width: 3, depth: 1, activation: "tanh", fixedTau: 0.3 } });
  const free = disturbed({});
  const expected = free.decode(free.weights(x), 0.3);
  assert.ok(await largestDifference(model(x), expected) < 1e-14);
});

Deno.test("without a root network the state holds the parameters of the formula", async () => {
  const model = disturbed({ root: "none", physics: sinePhase(2) });
  assert.equal(model.stateSize, 2);
  const tau = arange(7, { dtype }).div(6).expandDims(1);
  const expected = tau.mul(2 * Math.PI).add(model.weights(x)).sin();
  assert.ok(await largestDifference(model(x), expected) < 1e-14);
  const learned = WARP({ ...small, root: "none", physics: sinePhase(2), initial: "learned", key: key(0) });
  assert.deepEqual(learned.parameters.initial.theta!.shape, [2]);
  assert.throws(() => WARP({ ...small, root: "none", key: key(0) }), /needs physics/);
});

Deno.test("a dynamic tanh has scalar or per-channel parameters", async () => {
  const bound = { a: 2, b: 0.5, alpha: [3, 4], beta: -1 };
  const model = disturbed({ bound });
  const { tanh } = WARP({ ...small, bound, key: key(0), dtype }).parameters;
  const shapes = Object.fromEntries(Object.entries(tanh!).map(([name, { shape }]) => [name, shape]));
  assert.deepEqual(shapes, { a: [1], b: [1], alpha: [2], beta: [1] });
  for (const [name, values] of Object.entries(bound)) {
    const parameter = tanh![name as keyof typeof bound];
    assert.deepEqual(await parameter.toArray(), [values].flat());
    model.parameters.tanh![name as keyof typeof bound].assign(parameter);
  }
  const raw = await disturbed({})(x).toArray() as number[][][];
  const y = await model(x).toArray() as number[][][];
  raw.flat().forEach((row, i) =>
    row.forEach((value, channel) => {
      const expected = bound.alpha[channel] * Math.tanh((value - 0.5) / 2) - 1;
      assert.ok(Math.abs(y.flat()[i][channel] - expected) < 1e-12);
    })
  );
});

Deno.test("phi is initialized as in the authors' code, a learned initial state as in the paper", async () => {
  const first = WARP({ ...small, key: key(0), root: { width: 30, depth: 1 } }).parameters.initial.layers![0];
  const bound = 1 / Math.sqrt(2);
  for (const x of [first.weight, first.bias!]) {
    const largest = await x.abs().max().item();
    assert.ok(largest <= bound && largest > 0.5 * bound, `${largest}`);
  }
  const { theta } = WARP({ ...small, key: key(0), initial: "learned" }).parameters.initial;
  // The bias of the hidden layer is zero.
  assert.equal(await theta!.slice(0, 3, 6).abs().max().item(), 0);
});

Deno.test("the final state is the last of all states, in every mode", async () => {
  for (const mode of ["auto", "recurrent", "convolutional", "chunked"] as const) {
    const model = disturbed({ mode });
    assert.ok(await largestDifference(model(x, { states: "final" }), model(x).select(1, -1)) < 1e-13, mode);
  }
});

Deno.test("the output for a single observation is read at time zero", async () => {
  const model = disturbed({});
  const single = x.slice(1, 0, 1);
  assert.equal(await largestDifference(model(single), model.decode(model.weights(single), 0)), 0);
  assert.equal(await largestDifference(model(single).select(1, 0), model(single, { states: "final" })), 0);
});

Deno.test("decoding the states of a series gives its outputs", async () => {
  for (
    const design of [{}, { root: { width: 3, depth: 1, previousInput: true } }, { physics: linearFlow(2) }]
  ) {
    const model = disturbed(design);
    const tau = arange(7, { dtype }).div(6).expandDims(1);
    const decoded = model.decode(model.weights(x), tau, { input: x, first: x.slice(1, 0, 1) });
    assert.ok(await largestDifference(decoded, model(x)) < 1e-14);
  }
});

Deno.test("a series can be continued from the last state of its first part", async () => {
  const model = disturbed({});
  const whole = model.weights(x);
  // The second part begins with the last input of the first part, so that no change is lost.
  const second = model.weights(x.slice(1, 3), { start: whole.select(1, 3) });
  assert.ok(await largestDifference(second, whole.slice(1, 3)) < 1e-14);
});

Deno.test("weights are clipped after every step", async () => {
  const model = disturbed({ clipWeights: 0.2 });
  const weights = model.weights(x).slice(1, 1).abs();
  assert.equal(await weights.max().item(), 0.2);
  assert.throws(() => WARP({ ...small, key: key(0), clipWeights: 1, mode: "convolutional" }), /not linear/);
});

Deno.test("a standard deviation is the maximum of the softplus and the bound", async () => {
  const [free, bounded] = [0, 0.7].map((leastDeviation) =>
    disturbed({ output: "normal", leastDeviation })(x).slice(-1, 2)
  );
  assert.ok(await free.min().item() < 0.7 && await free.max().item() > 0.7);
  assert.equal(await largestDifference(bounded, free.maximum(0.7)), 0);
});

for (const mode of ["recurrent", "convolutional", "chunked"] as const) {
  Deno.test(`states that exceed the limit are reported with the step, in the ${mode} mode`, () => {
    const model = WARP({ ...small, key: key(0), mode, limit: 100, initial: "learned" });
    const theta = model.parameters.initial.theta!;
    theta.assign(full(theta.shape, 1));
    (model.parameters.A as Tensor).assign(eye(model.stateSize).mul(1.1));
    // 1.1^48 = 97 and 1.1^49 = 107: the step from state 48 to 49, counted from zero.
    const calls: WARPCallOptions[] = [{}, { states: "final" }, { context: 3 }];
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

testOnDevices("a NaN in the data is reported as NaN with its step", async () => {
  const model = WARP({ ...small, key: key(0), limit: 100 });
  const data = Array.from({ length: 2 * 9 * 2 }, (_, i) => i === 18 + 2 * 4 ? NaN : 0.1);
  const read = async () => void await model(tensor(data, { shape: [2, 9, 2] })).data();
  await assert.rejects(
    read,
    /^DivergenceError: the state of sample 1 became NaN in step \d+ of 8, .* forwardFill/,
  );
});

Deno.test("WARP rejects contradictory options", () => {
  const model = WARP({ ...small, key: key(0) });
  const y = ones([2, 5, 2]);
  assert.throws(() => model(ones([2, 5, 3])), /x of shape \(2, 5, 3\), expected \(batch, length, 2\)/);
  assert.throws(() => model(y, { context: 6 }), /context is 6, expected at most the length of the series, 5/);
  assert.throws(() => model(y, { context: 1, pForcing: 2, key: key(0) }), /pForcing is 2/);
  assert.throws(() => model(y, { pForcing: 0.5 }), /need a key/);
  assert.throws(() => model(y, { length: 9 }), /length applies only to runs that feed back predictions/);
  assert.throws(() => model(y, { sample: true }), /sample applies only to runs that feed back predictions/);
  assert.throws(() => model(y, { context: 1, sample: true, key: key(0) }), /output: "normal"/);
  assert.throws(() => model(y, { start: ones([2, 3]) }), /expected \(2, 14\), a state for each series/);
  assert.throws(() => WARP({ ...small, clipWeights: -1, key: key(0) }), /clipWeights is -1/);
  assert.throws(() => WARP({ ...small, limit: NaN, key: key(0) }), /limit is NaN/);
  assert.throws(() => WARP({ ...small, bound: { low: 1, high: 0 }, key: key(0) }), /bound.low is 1/);
  assert.throws(() => WARP({ ...small, bound: { a: 0 }, key: key(0) }), /bound.a is 0, .* other than 0/);
  assert.throws(
    () => WARP({ ...small, bound: { beta: [1] }, key: key(0) }),
    /bound.beta is 1, .* a list of 2/,
  );
  assert.throws(() => WARP({ ...small, trainingLength: 1, key: key(0) }), /trainingLength is 1/);
  const withRoot = (more: object) => WARP({ ...small, root: { width: 2, depth: 1, ...more }, key: key(0) });
  assert.throws(() => withRoot({ fixedTau: 2 }), /fixedTau is 2, expected a time from 0 to 1/);
  assert.throws(() => withRoot({ positions: { channels: 2, base: 5 } }), /needs trainingLength/);
  assert.throws(() => WARP({ ...small, leastDeviation: -1, key: key(0) }), /leastDeviation is -1/);
  assert.throws(() => WARP({ ...small, transition: { rank: 15 }, key: key(0) }), /rank is 15.*14 weights/);
  const classifier = WARP({ ...small, output: "logits", key: key(0) });
  assert.throws(
    () => classifier(y, { context: 2 }),
    /only a model that predicts its input can feed back predictions/,
  );
  assert.throws(
    () => WARP({ ...small, transition: { blocks: 4 }, key: key(0) }),
    /does not divide the state's 14/,
  );
});

testOnBoth(
  "WARP gives the same outputs and gradients in every mode and on every device",
  longOnSoftware,
  async (cpu, webgpu) => {
    const calls: [Partial<WARPOptions>, WARPCallOptions][] = [
      [{ mode: "convolutional", output: "logits" }, {}],
      [{ mode: "chunked" }, {}],
      [{ mode: "convolutional", initial: "learned" }, { states: "all" }],
      [{ output: "normal", bound: "dynamicTanh" }, { context: 2, sample: true, pForcing: 0.3, key: key(3) }],
    ];
    const results = async (device: KernelDevice) => {
      setCurrentDevice(device);
      const found: Float32Array[] = [];
      for (const [design, call] of calls) {
        const model = disturbed({ ...design, dtype: "float32" });
        const series = normal(key(2), [2, 40, 2]);
        found.push(await model(series, call).data() as Float32Array);
        const [, gradients] = valueAndGrad(() => model(series, call).square().mean())(model.parameters);
        for (const [, x] of treeFlatten(gradients)) found.push(await x.data() as Float32Array);
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
  },
);

testLong("WARP learns to continue a sine wave", async () => {
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
