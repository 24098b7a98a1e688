import assert from "node:assert/strict";
import {
  Adam,
  addTime,
  bernoulli,
  CubicSpline,
  full,
  gaussianNLL,
  key,
  LatentODE,
  naturalCubicCoeffs,
  normal,
  tensor,
  uniform,
  valueAndGrad,
} from "../../mod.ts";
import { negativeEvidenceLowerBound } from "../../src/models/latent/evidence_lower_bound.ts";
import { testLong } from "../devices.ts";

const t = Array.from({ length: 8 }, (_, i) => i * 0.25);
const phases = uniform(key(0), [16, 1]).mul(6);
const complete = phases.add(tensor(t)).sin().expandDims(2); // (series, times, 1)
const observed = bernoulli(key(1), 0.8, complete.shape).where(complete, NaN);
const X = CubicSpline(naturalCubicCoeffs(addTime(observed, t), t), t);
const makeModel = (noise?: number) =>
  LatentODE({
    inputChannels: 2,
    outputChannels: 1,
    latentChannels: 3,
    width: 12,
    depth: 1,
    noise,
    stepSize: 0.25,
    key: key(2),
  });

testLong("a latent ODE learns to fill in missing values", async () => {
  const model = makeModel();
  const error = () => model(X, t).sub(complete).square().mean().item();
  const optimizer = Adam(model.parameters, { learningRate: 0.02 });
  const before = await error();
  for (let i = 0; i < 150; i++) {
    const step = valueAndGrad(() => model.loss(X, observed, t, { key: key(3 + i) }));
    optimizer.step(step(model.parameters)[1]);
  }
  const after = await error();
  assert.ok(after < 0.2 * before, `${after} of ${before}`);
});

Deno.test("a latent ODE predicts beyond the observed times and samples with a key", async () => {
  const model = makeModel();
  assert.deepEqual(model(X, [0, 1, 5]).shape, [16, 3, 1]);
  const [a, b, c] = await Promise.all([4, 4, 5].map((seed) => model(X, t, { key: key(seed) }).data()));
  assert.deepEqual(a, b);
  assert.notDeepEqual(a, c);
});

Deno.test("missing values do not count in the loss of a latent ODE", async () => {
  const model = makeModel();
  const nothing = tensor(NaN).broadcastTo(complete.shape);
  const divergence = await model.loss(X, nothing, t, { key: key(4) }).item();
  assert.ok(Number.isFinite(divergence) && divergence >= 0, `${divergence}`);
  assert.ok(await model.loss(X, observed, t, { key: key(4) }).item() > divergence);
});

Deno.test("the evidence lower bound is the Gaussian likelihood minus the divergence from a standard normal", async () => {
  const shape = [2, 3, 1];
  const [predicted, x] = [normal(key(5), shape), normal(key(6), shape)];
  const [mean, logDeviation] = [[1, 0], [Math.LN2, 0]].map((row) => tensor([row, row]));
  const bound = negativeEvidenceLowerBound({ mean, logDeviation }, predicted, x, 0.5);
  // 0.5 (mean^2 + deviation^2 - 1) - log(deviation), for a mean of 1 and a deviation of 2.
  const divergence = 2 - Math.LN2;
  const expected = 3 * await gaussianNLL(predicted, full(shape, 0.5), x).item() + divergence;
  assert.ok(Math.abs(await bound.item() - expected) < 1e-5, `${bound}, expected ${expected}`);
});

Deno.test("a latent ODE rejects zero noise and observations of the wrong shape", () => {
  assert.throws(() => makeModel(0), /LatentODE: noise is 0, expected a positive number/);
  const loss = () => makeModel().loss(X, observed.select(0, 0), t, { key: key(4) });
  assert.throws(loss, /LatentODE: x of shape \(8, 1\), expected \(16, 8, 1\)/);
});
