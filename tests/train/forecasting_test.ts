import assert from "node:assert/strict";
import { type Tensor, valueAndGrad } from "../../mod.ts";
import { sineWaves } from "../../src/data/dynamics.ts";
import { sinePhase } from "../../src/models/warp/physics.ts";
import { key } from "../../src/tensor/random.ts";
import { drawContinuation } from "../../src/train/experiments/draw_continuation.ts";
import { exponentialSpirals } from "../../src/train/experiments/exponential_spirals.ts";
import { forecasting, type ForecastingOptions } from "../../src/train/experiments/forecasting.ts";
import { forecastModel, warpParameters } from "../../src/train/experiments/forecast_models.ts";
import { massSpringDamper } from "../../src/train/experiments/mass_spring_damper.ts";
import { sine } from "../../src/train/experiments/sine.ts";
import { forecastFigure } from "../../src/train/forecast_figure.ts";
import { parameterCount } from "../../src/train/task.ts";
import { testOnCpu } from "../devices.ts";

const sizes = {
  channels: 1,
  length: 8,
  hidden: 6,
  root: { depth: 1, activation: "silu" as const },
  key: key(1),
};
const settings = { seed: 0, epochs: 1, batchSize: 4, learningRate: 0.005, hidden: 6, drop: 0 };

function options(name: string, more: Partial<ForecastingOptions> = {}): ForecastingOptions {
  const part = (seed: number) => sineWaves(4, key(seed), { length: 8 });
  return {
    splits: { train: part(1), validation: part(2), test: part(3) },
    model: forecastModel(name, {
      ...sizes,
      physics: sinePhase(),
      leastDeviation: more.deviations ? 0.1 : undefined,
    }),
    settings,
    context: 3,
    forcing: 0.5,
    draw: drawContinuation("wave", ["height"], 3),
    ...more,
  };
}

testOnCpu("the recurrent networks have as many parameters as WARP, to one more of the state", () => {
  const count = (name: string, leastDeviation?: number) =>
    parameterCount(forecastModel(name, { ...sizes, leastDeviation }));
  for (const leastDeviation of [undefined, 0.1]) {
    const expected = warpParameters({ ...sizes, leastDeviation });
    assert.equal(count("warp", leastDeviation), expected);
    for (const cell of ["gru", "lstm"]) {
      const ratio = count(cell, leastDeviation) / expected;
      assert.ok(ratio > 0.9 && ratio < 1.1, `${cell}: ${ratio}`);
    }
  }
});

testOnCpu("validation counts what comes after the context, from the model's own predictions", async () => {
  for (const name of ["warp", "warp-phys", "gru", "lstm", "neural-ode"]) {
    const { model, ...rest } = options(name);
    const task = forecasting({ model, ...rest });
    const { x } = task.data.validation;
    const y = model(x, { context: 3 });
    const expected = x.slice(1, 3).sub(y.slice(1, 2, 7)).square().mean();
    assert.equal(await task.evaluate({ x }).loss.item(), await expected.item(), name);
  }
});

testOnCpu("training sees every step, and its loss goes down", async () => {
  for (const deviations of [false, true]) {
    const task = forecasting(options("warp", { deviations, visits: 5 }));
    assert.equal(task.data.train.x.shape[0], 20);
    const losses: number[] = [];
    for (let step = 0; step < 90; step++) {
      const [loss, gradients] = valueAndGrad(() => task.evaluate(task.data.train, key(9)).loss)(
        task.parameters,
      );
      losses.push(await loss.item());
      task.optimizer.step(gradients);
    }
    assert.ok(losses.at(-1)! < 0.8 * losses[0], `${losses[0]} to ${losses.at(-1)}`);
  }
});

testOnCpu(
  "a figure shows the given part, what was observed and what was predicted with its deviation",
  async () => {
    const [figure] = await forecasting(options("warp", { deviations: true, drawn: 1 })).figures!();
    assert.ok("channels" in figure);
    const [{ truth, predicted, deviation }] = figure.channels;
    assert.equal(truth.length, 8);
    assert.deepEqual(Array.from(predicted, Number.isNaN), [
      true,
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    assert.ok(Array.from(deviation!).slice(3).every((value) => value >= 0.1));
    const html = forecastFigure(figure);
    assert.match(html, /wave 0/);
    assert.match(html, /class="context"/);
    assert.match(html, /class="band"/);
    assert.ok(!html.includes("NaN"), html);
  },
);

Deno.test("an image is drawn with a rectangle for each run of equal pixels", () => {
  const html = forecastFigure({
    title: "digit",
    images: [{ name: "given", width: 3, pixels: [0, 0, 1, 1, 1, 1] }],
  });
  assert.deepEqual(
    [...html.matchAll(/fill="(#\w+)" d="(M[^v]*)/g)].map(([, fill, path]) => `${fill} ${path}`),
    ["#000000 M0,0h2", "#ffffff M2,0h1", "#ffffff M0,1h3"],
  );
});

testOnCpu("experiments refuse a model that there is not", async () => {
  for (const experiment of [sine, exponentialSpirals]) {
    await assert.rejects(
      async () => await experiment.prepare({ ...settings, model: "perceptron" }),
      /unknown model "perceptron"; there are warp/,
    );
  }
});

testOnCpu(
  "mass-spring-dampers start at rest at one and stay within the scale of the training data",
  async () => {
    const task = await massSpringDamper.prepare({ ...settings, model: "gru" });
    const { x } = task.data.train as { x: Tensor };
    assert.deepEqual(x.shape.slice(1), [64, 2]);
    assert.equal(await x.abs().max().item(), 1);
    assert.deepEqual(await x.at(1, 0).at(0, 0).toArray(), [1, 0]);
  },
);
