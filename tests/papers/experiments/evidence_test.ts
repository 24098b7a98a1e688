import assert from "node:assert/strict";
import { tensor, zeros } from "../../../mod.ts";
import { measureForecastBaselines } from "../../../tasks/papers/experiments/forecast_baselines.ts";
import { withUnitRange } from "../../../tasks/papers/experiments/image_completion.ts";
import { bestErrors } from "../../../tasks/papers/evidence/mnist_bound.ts";
import { bitsPerDimension } from "../../../src/nn/losses.ts";
import { testLong } from "../../devices.ts";
import { experimentNamed } from "../../runs.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";

Deno.test("the bound of image completion is the error of the mean of the images with the same first pixels", () => {
  // Three images of four pixels. The first two have the same first two pixels.
  const images = Uint8Array.of(0, 0, 0, 255, 0, 0, 255, 255, 255, 0, 0, 0);
  const { share, mse, bpd } = bestErrors(images, 4, 2);
  assert.equal(share, 2 / 3);
  // The pixels -1 and 1 of two images have a variance of 1, all others none: 2 of 6 values.
  assert.ok(Math.abs(mse - 2 / 6) < 1e-12);
  const wide = (Math.log(2 * Math.PI) + 1) / 2 / Math.LN2;
  const narrow = Math.log(2 * Math.PI * 0.25) / 2 / Math.LN2;
  assert.ok(Math.abs(bpd - (2 * wide + 4 * narrow) / 6) < 1e-12);
});

Deno.test("errors of values from 0 to 1 are a quarter of squared errors and one bit less per dimension", async () => {
  const [means, deviations, targets] = [[0.1, -0.4], [0.5, 0.7], [0.6, -1]].map((x) => tensor(x));
  const half = (x: Tensor) => x.div(2);
  const mse = await means.sub(targets).square().mean().item();
  const bpd = await bitsPerDimension(means, deviations, targets).item();
  const found = withUnitRange({ "mse after 100/784": mse, "bpd after 100/784": bpd, loss: 3 });
  const unit = [means.add(1), targets.add(1)].map(half);
  const expected = {
    "mse after 100/784 in [0, 1]": await unit[0].sub(unit[1]).square().mean().item(),
    "bpd after 100/784 in [0, 1]": await bitsPerDimension(unit[0], half(deviations), unit[1]).item(),
  };
  assert.equal(Object.keys(found).length, 5);
  for (const [name, value] of Object.entries(expected)) {
    assert.ok(Math.abs(found[name] - value) < 1e-6, `${name}: ${found[name]}, expected ${value}`);
  }
});

Deno.test("the bits per dimension of a baseline are those of normal distributions with its squared error", async () => {
  const test = tensor([0.5, -0.5, 0.25, 1]).reshape([2, 2, 1]);
  const baselines = await measureForecastBaselines({
    ...{ train: zeros([2, 2, 1]), test, squaredErrors: { mse: 0, "mse after 1": 1 }, start: 0 },
    ...{ deviation: 0.5, isLastGiven: false },
  });
  assert.equal(baselines.zero, undefined);
  const { bpd, "bpd after 1": after } = baselines["the mean of the training series"];
  const bits = async (x: Tensor) => await bitsPerDimension(x.zerosLike(), x.zerosLike().add(0.5), x).item();
  assert.ok(Math.abs(bpd - await bits(test)) < 1e-6);
  assert.ok(Math.abs(after - await bits(test.slice(1, 1))) < 1e-6);
});

Deno.test("zero is a baseline of values that decay to zero", async () => {
  const test = tensor([0.5, -0.5, 0.25, 1]).reshape([2, 2, 1]);
  const baselines = await measureForecastBaselines({
    ...{ train: test, test, squaredErrors: { loss: 1 }, start: 1, isZeroForecast: true, isLastGiven: true },
  });
  assert.deepEqual(baselines.zero, { loss: (0.25 + 1) / 2, mae: 0.75 });
});

testLong("--ranges chooses the parameters of the paper's table 6 or those of the authors' code", async () => {
  const targets = async (ranges?: "paper" | "code") => {
    const { data } = await experimentNamed("lotka-volterra").prepare({
      ...{ model: "gru", hidden: 2, seed: 0, epochs: 1, batchSize: 8, learningRate: 0.001, samples: 8 },
      ...{ length: 16, ranges },
    });
    return [...await (data.test as { targets: Tensor }).targets.data()];
  };
  const [implied, code, paper] = [await targets(), await targets("code"), await targets("paper")];
  assert.deepEqual(implied, code);
  assert.notDeepEqual(paper, code);
});
