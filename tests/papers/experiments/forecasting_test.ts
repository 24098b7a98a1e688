import assert from "node:assert/strict";
import {
  type ForecastCallOptions,
  type Tensor,
  tensor,
  treeFlatten,
  treeLeaves,
  treeMap,
  valueAndGrad,
} from "../../../mod.ts";
import { sineWaves } from "../../../tasks/papers/data/dynamics.ts";
import { mapSplits } from "../../../src/data/series.ts";
import { RecurrentForecaster } from "../../../src/models/recurrent.ts";
import { sinePhase } from "../../../src/models/warp/physics.ts";
import { key, normal } from "../../../src/tensor/random.ts";
import { drawForecast } from "../../../tasks/papers/experiments/draw_forecast.ts";
import { exponentialSpirals } from "../../../tasks/papers/experiments/exponential_spirals.ts";
import { forecasting, type ForecastingOptions } from "../../../tasks/papers/experiments/forecasting.ts";
import { forecastModel, rollout, warpParameters } from "../../../src/series/models/next_step_models.ts";
import { lotkaVolterra } from "../../../tasks/papers/experiments/lotka_volterra.ts";
import { massSpringDamper } from "../../../tasks/papers/experiments/mass_spring_damper.ts";
import { sine } from "../../../tasks/papers/experiments/sine.ts";
import { renderSection } from "../../../src/charts/render.ts";
import { parameterCount } from "../../../src/nn/layer.ts";
import { cpu, testLong, testOnCpu } from "../../devices.ts";
import { setCurrentDevice } from "../../../src/device/current.ts";

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
    draw: drawForecast("wave", ["height"], 3),
    ...more,
  };
}

testOnCpu("recurrent networks have as many parameters as WARP, up to half a state feature", () => {
  const timed = [16, 20, 24, 28, 32].map((hidden) => ({ hidden, time: true }));
  for (const more of [{}, { leastDeviation: 0.1 }, ...timed]) {
    const modelSizes: typeof sizes & { leastDeviation?: number; time?: boolean } = { ...sizes, ...more };
    const expected = warpParameters(modelSizes);
    assert.equal(parameterCount(forecastModel("warp", modelSizes).parameters), expected);
    for (const cell of ["gru", "lstm"] as const) {
      const model = forecastModel(cell, modelSizes);
      const weights = treeFlatten(model.parameters).find(([name]) => name.endsWith("weight_hh"))![1];
      const distances = [-1, 0, 1].map((one) => {
        const hiddenChannels = weights.shape[1] + one;
        const { channels, leastDeviation, time, key } = modelSizes;
        const options = { channels, leastDeviation, time, key, cell, hiddenChannels };
        return Math.abs(parameterCount(RecurrentForecaster(options).parameters) - expected);
      });
      assert.equal(Math.min(...distances), distances[1], `${cell}: ${distances}`);
    }
  }
});

testOnCpu("the Transformer has as many parameters as WARP, up to one feature per head", () => {
  for (const leastDeviation of [undefined, 0.1]) {
    const larger = { ...sizes, hidden: 32, time: true, leastDeviation };
    const ratio = parameterCount(forecastModel("transformer", larger).parameters) / warpParameters(larger);
    assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`);
  }
});

testOnCpu("state space models have as many parameters as WARP, up to one feature", () => {
  for (const name of ["s4d", "lru", "s5", "mamba"]) {
    const ratio = parameterCount(forecastModel(name, sizes).parameters) / warpParameters(sizes);
    assert.ok(ratio > 0.8 && ratio < 1.25, `${name}: ${ratio}`);
  }
});

testOnCpu("WARP forecasts user series autoregressively, with a state size for any horizon", () => {
  const count = (horizon: number) => {
    const model = rollout("warp", {
      ...{ channels: 2, futureCovariates: 0, context: 4, horizon, hidden: 4, key: key(0) },
      ...{ statistics: [], targetChannels: [0, 1], gap: 1, season: 1, names: [], time: { kind: "number" } },
      network: () => assert.fail("expected no model of irregular series"),
    });
    assert.deepEqual(model({ grid: normal(key(1), [5, 4, 2]) }).shape, [5, horizon, 2]);
    return parameterCount(model.parameters);
  };
  assert.equal(count(3), count(30));
});

testOnCpu("the Transformer is trained with teacher forcing", async () => {
  const { model, ...rest } = options("transformer");
  const { data, evaluate } = forecasting({ model, ...rest });
  const { x } = data.train;
  const expected = x.slice(1, 1).sub(model(x, { context: 8 }).slice(1, 0, 7)).square().mean();
  assert.equal(await evaluate({ x }, key(9)).loss.item(), await expected.item());
});

testOnCpu("the validation loss counts autoregressive predictions after the context", async () => {
  for (const name of ["warp", "warp-phys", "gru", "lstm", "transformer", "s4d", "mamba", "neural-ode"]) {
    const { model, ...rest } = options(name);
    const task = forecasting({ model, ...rest });
    const { x } = task.data.validation!;
    const y = model(x, { context: 3 });
    const expected = x.slice(1, 3).sub(y.slice(1, 2, 7)).square().mean();
    assert.equal(await task.evaluate({ x }).loss.item(), await expected.item(), name);
  }
});

testOnCpu("the test loss is also measured with other contexts", async () => {
  const task = forecasting(options("gru", { otherContexts: { "after 5": 5 } }));
  const { measures } = await task.evaluatePredictions!();
  const after5 = forecasting(options("gru", { context: 5 }));
  assert.deepEqual(measures, { "mse after 5": await after5.evaluate(after5.data.test).loss.item() });
});

testOnCpu("the test metrics include the baselines mean of the training series and last value", async () => {
  const { splits } = options("gru");
  const targets = mapSplits(splits, (part) => ({ ...part, values: part.values.map((value) => 2 * value) }));
  const cases: Partial<ForecastingOptions>[] = [
    {},
    { deviations: true },
    { otherContexts: { "after 5": 5 } },
    { targets },
  ];
  for (const more of cases) {
    const task = forecasting(options("gru", more));
    const { train, test } = more.targets ?? splits;
    const [count, length] = test.shape;
    const value = (values: ArrayLike<number>, i: number, t: number) => values[i * length + t];
    const meanAt = (t: number) =>
      Array.from({ length: train.shape[0] }, (_, i) => value(train.values, i, t))
        .reduce((sum, x) => sum + x, 0) / train.shape[0];
    const mean = (
      from: number,
      cost: (error: number) => number,
      predict: (i: number, t: number) => number,
    ) => {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        for (let t = from; t < length; t++) sum += cost(predict(i, t) - value(test.values, i, t));
      }
      return sum / count / (length - from);
    };
    const start = more.targets ? 1 : 3;
    const squares = {
      [more.deviations ? "mse" : "loss"]: start,
      ...more.otherContexts && { "mse after 5": 5 },
    };
    const measures = (predict: (i: number, t: number, from: number) => number) => ({
      ...Object.fromEntries(
        Object.entries(squares).map((
          [name, from],
        ) => [name, mean(from, (error) => error ** 2, (i, t) => predict(i, t, from))]),
      ),
      ...(more.targets ? { "half mse": mean(1, (error) => error ** 2 / 2, (i, t) => predict(i, t, 1)) } : {}),
      mae: mean(start, Math.abs, (i, t) => predict(i, t, start)),
    });
    const expected: Record<string, Record<string, number>> = {
      "the mean of the training series": measures((_, t) => meanAt(t)),
      ...more.targets
        ? { "the input": measures((i, t) => value(splits.test.values, i, t)) }
        : { "the last value": measures((i, _, from) => value(test.values, i, from - 1)) },
    };
    const { baselines } = await task.evaluatePredictions!();
    assert.deepEqual(Object.keys(baselines), Object.keys(expected));
    for (const [name, metrics] of Object.entries(expected)) {
      assert.deepEqual(Object.keys(baselines[name]), Object.keys(metrics));
      for (const [measure, error] of Object.entries(metrics)) {
        assert.ok(Math.abs(baselines[name][measure] - error) < 1e-6, `${name}, ${measure}: ${error}`);
      }
      // The metric of a baseline is reported next to the model's metric.
      const model = { ...task.evaluate(task.data.test), ...(await task.evaluatePredictions!()).measures };
      assert.ok(Object.keys(metrics).every((measure) => measure in model));
    }
  }
});

testOnCpu("training samples also inside the context, unless a forecast is smooth", async () => {
  const calls: ForecastCallOptions[] = [];
  const { model, ...rest } = options("gru", { deviations: true });
  const spy = Object.assign((x: Tensor, call: ForecastCallOptions) => (calls.push(call), model(x, call)), {
    parameters: model.parameters,
  });
  const withSpy = (more: { smooth?: boolean }) => forecasting({ ...rest, model: spy, sample: true, ...more });
  const task = withSpy({});
  const first = task.evaluate(task.data.train, key(9)).loss;
  task.evaluate(task.data.validation!);
  withSpy({ smooth: true }).evaluate(task.data.validation!);
  assert.deepEqual(calls.map(({ context, forcing, sample }) => [context, forcing, sample]), [
    [undefined, 0.5, true],
    [3, undefined, true],
    [3, undefined, undefined],
  ]);
  // Validation draws the same random numbers every time.
  const [a, b] = [0, 1].map(() => task.evaluate(task.data.validation!).loss);
  assert.equal(await a.item(), await b.item());
  assert.notEqual(await first.item(), await task.evaluate(task.data.train, key(10)).loss.item());
});

testOnCpu("the mean absolute percentage error is measured on request, after the context", async () => {
  const { splits, ...rest } = options("gru");
  const task = forecasting({ ...rest, splits, percentage: true });
  const { x } = task.data.test;
  const [truth, predicted] = [x.slice(1, 3), rest.model(x, { context: 3 }).slice(1, 2, 7)];
  const expected = truth.sub(predicted).abs().div(truth.abs()).mean();
  const { mape } = task.evaluate(task.data.test);
  assert.ok(Math.abs(await mape.div(expected).item() - 1) < 1e-6);
  assert.ok(!("mape" in forecasting({ ...rest, splits }).evaluate(task.data.test)));
});

testOnCpu("predictions are compared with separate targets at every step", async () => {
  const { splits, ...rest } = options("gru");
  const targets = mapSplits(splits, (part) => ({ ...part, values: part.values.map((value) => -value) }));
  const task = forecasting({ ...rest, splits, targets, context: 8 });
  const { x } = task.data.test;
  const expected = rest.model(x, { context: 8 }).slice(1, 0, 7).add(x.slice(1, 1)).square().mean();
  assert.equal(await task.evaluate(task.data.test).loss.item(), await expected.item());
});

testOnCpu(
  "the paper's recipe halves the learning rate by averaged training losses and clips gradients by value",
  () => {
    const { plateau, plateauOf, clipValue, clipNorm, schedule, optimizer } = forecasting(
      options("warp", { settings: { ...settings, recipe: "paper" } }),
    );
    assert.deepEqual([plateauOf, clipValue, clipNorm, schedule], ["training", 1e-7, undefined, undefined]);
    assert.ok(Object.keys(optimizer!.state.tensors).some((name) => name.endsWith(".s")), "AdaBelief");
    // Nothing improves: the first average is the best, and the twentieth after it lowers the rate.
    const factors = Array.from({ length: 50 * 21 }, () => plateau!.update(1));
    assert.deepEqual([factors.at(-2), factors.at(-1)], [1, 0.5]);
    for (let i = 0; i < 50 * 20 * 20; i++) plateau!.update(1);
    assert.equal(plateau!.state.factor, 0.01);
    assert.throws(
      () => forecasting(options("warp", { settings: { ...settings, recipe: "long" as "paper" } })),
      /unknown recipe "long"; there are short, paper/,
    );
  },
);

testOnCpu("in the paper's recipe the Transformer uses AdamW with a constant learning rate", async () => {
  const learningRate = 0.01;
  const { parameters, optimizer, plateau, clipValue, clipNorm, schedule } = forecasting(
    options("transformer", {
      settings: { ...settings, model: "transformer", recipe: "paper", learningRate },
    }),
  );
  assert.deepEqual([plateau, clipValue, clipNorm, schedule], [undefined, undefined, undefined, undefined]);
  const before = treeMap(parameters, (tensor) => tensor.mul(1));
  optimizer!.step(treeMap(parameters, (tensor) => tensor.mul(0).add(1)));
  // Adam's first step equals the learning rate. The moments decay by factors of 0.9 and 0.95.
  for (const [i, tensor] of treeLeaves(before).entries()) {
    const difference = treeLeaves(parameters)[i].sub(tensor.mul(1 - 0.1 * learningRate).sub(learningRate));
    assert.ok(await difference.abs().max().item() < 1e-6);
  }
  for (const [name, moment] of Object.entries(optimizer!.state.tensors)) {
    const expected = name.endsWith(".m") ? 0.1 : 0.05;
    assert.ok(await moment.sub(expected).abs().max().item() < 1e-6, name);
  }
});

testOnCpu("the ablations of WARP are separate models", async () => {
  const parametersOf = (name: string, more: object = {}) => {
    const made = forecastModel(name, { ...sizes, hidden: 16, physics: sinePhase(), ...more });
    return Object.fromEntries(treeFlatten(made.parameters).map(([path, { shape }]) => [path, shape]));
  };
  const D = parametersOf("warp").A[0];
  assert.deepEqual(parametersOf("warp-no-initial")["initial.theta"], [D]);
  assert.deepEqual(parametersOf("warp-diagonal").A, [D]);
  const [blocks, side] = parametersOf("warp-block-diagonal").A;
  assert.ok(blocks > 1 && blocks <= 16, `${blocks}`);
  assert.equal(blocks * side, D);
  // 3 * 2 + 1 weights are a prime number.
  assert.throws(
    () => parametersOf("warp-block-diagonal", { hidden: 2, root: { depth: 1 }, channels: 1 }),
    /WARP: no number of blocks from 2 to 16 divides the state's 7 weights; choose another hidden/,
  );
  assert.deepEqual(parametersOf("warp-low-rank")["A.core"], [16, 16]);
  assert.deepEqual(parametersOf("warp-phys-no-root").A, [1, 1]);
  assert.deepEqual(parametersOf("warp", { time: true }).B, [D, 2]);
  const x = options("warp").splits.train;
  const values = tensor(Float32Array.from(x.values), { shape: x.shape });
  const y = forecastModel("warp-fixed-tau", sizes)(values, { context: 8 });
  const free = forecastModel("warp", sizes)(values, { context: 8 });
  // Initially B is zero and A is the identity. Without the time all outputs are equal.
  assert.ok(await y.sub(y.slice(1, 0, 1)).abs().max().item() < 1e-6);
  assert.ok(await free.sub(free.slice(1, 0, 1)).abs().max().item() > 1e-3);
});

testOnCpu("the clipWeights setting clips WARP's weights", async () => {
  const clipped = forecastModel("warp", { ...sizes, clipWeights: 1e-3 });
  const plain = forecastModel("warp", { ...sizes, clipWeights: 0 });
  const x = tensor(Float32Array.from({ length: 8 }, (_, t) => Math.sin(t)), { shape: [1, 8, 1] });
  const [held, free] = [clipped, plain].map((model) => model(x, { context: 8 }).slice(1, 1).abs().max());
  assert.ok(await held.item() < 2e-3 && await free.item() > 1e-2);
});

testOnCpu("training uses every step and lowers the loss", async () => {
  for (const deviations of [false, true]) {
    const task = forecasting(options("warp", { deviations }));
    const losses: number[] = [];
    for (let step = 0; step < 90; step++) {
      const [loss, gradients] = valueAndGrad(() => task.evaluate(task.data.train, key(9)).loss)(
        task.parameters,
      );
      losses.push(await loss.item());
      task.optimizer!.step(gradients);
    }
    assert.ok(losses.at(-1)! < 0.8 * losses[0], `${losses[0]} to ${losses.at(-1)}`);
  }
});

testOnCpu(
  "a figure shows the context, observed values and predictions with standard deviations",
  async () => {
    const [section] = await forecasting(options("warp", { deviations: true, drawn: 1 })).examples!();
    assert.ok(section.kind === "charts");
    const [chart] = section.charts;
    assert.equal(chart.title, "wave 0");
    const [observed, predicted, band, given] = chart.panels[0].marks;
    assert.ok(observed.kind === "line" && predicted.kind === "line");
    assert.ok(band.kind === "band" && given.kind === "region");
    assert.equal(observed.y.length, 8);
    assert.deepEqual(Array.from(predicted.x), [3, 4, 5, 6, 7]);
    assert.deepEqual([given.from, given.to], [0, 2]);
    // The band is four standard deviations wide.
    assert.ok(Array.from(band.high, (high, i) => high - band.low[i]).every((width) => width >= 0.4));
    assert.doesNotMatch(renderSection(section), /NaN|undefined/);
  },
);

testOnCpu("experiments reject an unknown model", async () => {
  for (const experiment of [sine, exponentialSpirals]) {
    await assert.rejects(
      async () => await experiment.prepare({ ...settings, model: "perceptron" }),
      /unknown model "perceptron"; expected warp/,
    );
  }
});

testLong(
  "mass-spring-dampers start at rest, and the range of the training data has length 2 without an offset",
  async () => {
    setCurrentDevice(cpu);
    const task = await massSpringDamper.prepare({ ...settings, model: "warp", samples: 256 });
    const { x } = task.data.train as { x: Tensor };
    const { tanh } = task.parameters as { tanh: Record<string, Tensor> };
    const [low, high] = [await x.min().item(), await x.max().item()];
    const largest = Math.max(-low, high);
    assert.deepEqual([await tanh.a.toArray(), await tanh.alpha.toArray()], [[largest], [largest]]);
    assert.deepEqual(x.shape.slice(1), [64, 2]);
    assert.ok(Math.abs(high - low - 2) < 1e-6);
    const [position, velocity] = await x.select(1, 0).select(0, 0).toArray() as number[];
    // The initial position is 1 before scaling. Scaling divides by the largest velocity, about 25.
    assert.ok(position > 0.03 && position < 0.05 && velocity === 0);
    assert.equal(await x.select(2, 0).max().item(), position);
  },
);

testLong("Lotka-Volterra series span [-1, 1], and are shown once and copied three times", async () => {
  const task = await lotkaVolterra.prepare({ ...settings, model: "gru" });
  const { x, targets } = task.data.train as { x: Tensor; targets: Tensor };
  assert.deepEqual(x.shape, targets.shape);
  assert.ok(await x.abs().max().item() <= 1 && await x.max().item() > 0.5);
  const tokens = async (values: Tensor) =>
    (await values.select(0, 0).toArray() as number[][]).map((row) => row.join());
  const [shown, wanted] = [await tokens(x), await tokens(targets)];
  assert.equal(wanted.filter((token) => token === shown[0]).length, 3);
  assert.equal(shown.filter((token) => token === shown[0]).length, 1);
});
