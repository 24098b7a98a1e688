import assert from "node:assert/strict";
import {
  arange,
  checkGradients,
  concatenate,
  full,
  key,
  linearFlow,
  normal,
  splitKey,
  stack,
  type Tensor,
  tensor,
  treeFlatten,
  treeLeaves,
  valueAndGrad,
  WARP,
  type WARPCallOptions,
  type WARPModel,
  type WARPOptions,
} from "../../mod.ts";
import { feedingCosts } from "../../src/models/warp/cost.ts";
import type { Transition } from "../../src/models/warp/transition.ts";
import { assertAgree } from "../golden.ts";
import { disturbed, dtype, largestDifference, small, x } from "./warp_model.ts";

const feedings: Record<string, [Partial<WARPOptions>, WARPCallOptions]> = {
  "its means": [{}, { context: 3 }],
  "means after the context": [{}, { context: 7, length: 10 }],
  "means and some observations": [{}, { context: 1, pForcing: 0.5, key: key(3) }],
  "samples": [{ output: "normal" }, { context: 2, sample: true, key: key(3) }],
  "clipped predictions": [{ bound: { low: -0.1, high: 0.2 } }, { context: 3 }],
  "predictions of a formula": [{ physics: linearFlow(2) }, { context: 3 }],
  "means, with a low bound of the standard deviation": [{ output: "normal", leastDeviation: 0.7 }, {
    context: 3,
  }],
  "means, with clipped weights": [{ clipWeights: 0.3 }, { context: 3 }],
  "means and the time": [{ time: true, trainingLength: 9 }, { context: 3 }],
  "means, with the indices of the authors' code": [{
    indexing: "code",
    root: { width: 3, depth: 1, activation: "tanh", previousInput: true },
  }, { context: 3 }],
};
for (const [name, [design, call]] of Object.entries(feedings)) {
  Deno.test(`gradients of a WARP that feeds back ${name} agree with central differences`, async () => {
    const model = disturbed(design);
    await checkGradients((_) => model(x, call), [model.parameters], { elements: 3 });
  });
}

Deno.test("forcing with probability 1 or 0 equals a context of all observations or of one", async () => {
  const model = disturbed({});
  const all = model(x, { context: 7 });
  assert.equal(await largestDifference(model(x, { pForcing: 1, key: key(0) }), all), 0);
  const none = model(x, { pForcing: 0, key: key(0) });
  assert.equal(await largestDifference(none, model(x, { context: 1 })), 0);
  // Differences subtract the model's predictions, even if the observations are given.
  assert.ok(await largestDifference(all, model(x)) > 1e-3);
});

/** The recurrence of section 2.3, or of the authors' code, step by step. */
function stepByStep(model: WARPModel, theta0: Tensor, context: number, isCode: boolean): Tensor {
  const { A, B } = model.parameters as { A: Tensor; B: Tensor };
  const at = (t: number) => x.select(1, t);
  const tauOf = (t: number) => t / 6;
  let theta = isCode ? theta0.matmul(A.mT) : theta0;
  let before = at(0);
  const outputs = [model.decode(theta, 0, { input: before })];
  for (let t = 1; t < 7; t++) {
    const prediction = outputs[t - 1];
    const input = t < context ? at(t) : prediction;
    const passed = full([2, 1], tauOf(t) - tauOf(t - 1), { dtype });
    const change = concatenate([input.sub(before), passed], 1);
    theta = theta.matmul(A.mT).add(change.matmul(B.mT));
    const tau = isCode ? 2 * tauOf(t) - tauOf(t - 1) : tauOf(t);
    outputs.push(model.decode(theta, tau, { input: isCode ? before : input }));
    before = prediction;
  }
  return stack(outputs, 1);
}

for (const indexing of ["paper", "code"] as const) {
  Deno.test(`the recurrence with the indices of the ${indexing} agrees with its equations`, async () => {
    const root = { width: 3, depth: 1, activation: "tanh", previousInput: true } as const;
    const model = disturbed({ root, time: true, indexing });
    const theta0 = disturbed({ root, time: true }).weights(x).select(1, 0);
    for (const context of [1, 4, 7]) {
      const expected = stepByStep(model, theta0, context, indexing === "code");
      assert.ok(await largestDifference(model(x, { context }), expected) < 1e-13, `${context}`);
    }
  });
}

Deno.test("observations after the context do not change predictions", async () => {
  const model = disturbed({});
  const changed = x.add(arange(7, { dtype }).greaterEqual(4).cast(dtype).reshape([1, 7, 1]));
  const y = model(x, { context: 4 });
  assert.equal(await largestDifference(model(changed, { context: 4 }), y), 0);
  assert.ok(await largestDifference(model(changed, { context: 5 }), y) > 1e-3);
  assert.equal(await largestDifference(model(x.slice(1, 0, 4), { context: 4, length: 7 }), y), 0);
});

Deno.test("a sample that is fed back is the mean plus the standard deviation times a normal number", async () => {
  const model = disturbed({ output: "normal" });
  const pair = x.slice(1, 0, 2);
  const y = model(pair, { context: 1, sample: true, key: key(4) });
  const first = y.slice(1, 0, 1);
  const noise = normal(splitKey(key(4))[1], [2, 1, 2], { dtype });
  const sample = first.slice(-1, 0, 2).add(first.slice(-1, 2).mul(noise));
  const observed = concatenate([pair.slice(1, 0, 1), sample], 1);
  assert.ok(await largestDifference(y, model(observed, { context: 2 })) < 1e-14);
  assert.ok(await largestDifference(y, model(pair, { context: 1, sample: true, key: key(5) })) > 1e-6);
});

Deno.test("pForcing draws per series and step whether the observation is fed", async () => {
  // A root network whose output is the latest input.
  const root = { width: 1, depth: 0, previousInput: true };
  const model = WARP({ ...small, root, initial: "learned", key: key(0), dtype });
  model.parameters.initial.theta!.assign(tensor([0, 1, 0, 0, 0, 1, 0, 0], { dtype }));
  const observed = normal(key(1), [40, 50, 2], { dtype });
  const y = model(observed, { pForcing: 0.3, key: key(9) });
  const isFed = y.equal(observed).slice(1, 1).select(2, 0).cast(dtype);
  const share = await isFed.mean().item();
  assert.ok(Math.abs(share - 0.3) < 0.05, `${share}`);
  const [ofSteps, ofSeries] = [await isFed.mean(0).data(), await isFed.mean(1).data()];
  for (const shares of [ofSteps, ofSeries]) {
    assert.ok(Math.min(...shares) < share && Math.max(...shares) < 0.8, `${shares}`);
  }
});

/** A WARP whose states stay small over tens of steps. */
function inMode(mode: "recurrent" | "convolutional" | "auto", design: Partial<WARPOptions>): WARPModel {
  const model = disturbed({ ...design, mode });
  for (const x of [...treeLeaves(model.parameters.A), model.parameters.B]) x.assign(x.mul(0.7));
  return model;
}

const fedByConvolution: Record<string, [Partial<WARPOptions>, WARPCallOptions]> = {
  "no observation": [{ initial: "learned" }, { context: 1 }],
  "some": [{ initial: "learned" }, { pForcing: 0.5, key: key(3) }],
  "all": [{ initial: "learned" }, { context: 40 }],
  "samples": [{ initial: "learned", output: "normal" }, { pForcing: 0.3, sample: true, key: key(3) }],
  "the time": [{ initial: "learned", time: true, root: { width: 3, depth: 1, previousInput: true } }, {
    context: 5,
    length: 50,
  }],
  "a formula": [{ initial: "learned", physics: linearFlow(2), bound: "dynamicTanh" }, { context: 3 }],
  "a separate initial state per series": [{}, { context: 3 }],
  "a transition of planes": [{ initial: "learned", transition: "planes" }, { context: 3 }],
  "a transition of low rank": [{ initial: "learned", transition: { rank: 4 } }, { context: 3 }],
  "the indexing of the authors' code": [{ initial: "learned", indexing: "code" }, { context: 3 }],
};
for (const [name, [design, call]] of Object.entries(fedByConvolution)) {
  Deno.test(`convolution with ${name} gives the recurrence's outputs and gradients`, async () => {
    const series = normal(key(8), [2, 40, 2], { dtype, standardDeviation: 0.3 });
    const results = (["recurrent", "convolutional"] as const).map((mode) => {
      const model = inMode(mode, design);
      const loss = (values: Tensor) => model(values, call).square().mean();
      const [, ofParameters] = valueAndGrad(() => loss(series))(model.parameters);
      const [, ofSeries] = valueAndGrad(loss)(series);
      return [model(series, call), ofSeries, ...treeFlatten(ofParameters).map(([, x]) => x as Tensor)];
    });
    await assertAgree(name, results[1], results[0], 1e-10);
  });
}

Deno.test("gradients of an autoregressive WARP by convolution agree with central differences", async () => {
  const model = inMode("convolutional", { initial: "learned", output: "normal", time: true });
  const call = { pForcing: 0.4, sample: true, key: key(3) };
  await checkGradients((_) => model(x, call), [model.parameters], { elements: 4 });
  await checkGradients((x: Tensor) => model(x, call), [x], { elements: 8 });
});

Deno.test("convolution is chosen if it takes fewer operations", () => {
  const dense = { applyCost: 1300 ** 2, squareCost: 1300 ** 3 } as Transition;
  const digits = { batch: 64, steps: 195, inputs: 1, size: 1300, starts: 1 };
  const costsOf = (changed: object) => feedingCosts(dense, { ...digits, ...changed });
  const { recurrent, convolutional } = costsOf({});
  assert.ok(convolutional < recurrent / 5, `${convolutional}, ${recurrent}`);
  // With a separate initial state for each series, the powers alone cost as much.
  const separate = costsOf({ starts: 64 });
  assert.ok(separate.recurrent < separate.convolutional);
  const long = costsOf({ steps: 20_000, inputs: 3 });
  assert.ok(long.recurrent < long.convolutional);
});

Deno.test("with clipped weights, feeding runs step by step", async () => {
  const design = { initial: "learned", clipWeights: 0.2 } as const;
  const [found, expected] = (["auto", "recurrent"] as const).map((mode) =>
    inMode(mode, design)(x, { context: 2 })
  );
  assert.equal(await largestDifference(found, expected), 0);
});
