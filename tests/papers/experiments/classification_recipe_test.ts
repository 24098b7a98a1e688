import assert from "node:assert/strict";
import { Linear } from "../../../src/nn/linear.ts";
import { l2Penalty } from "../../../src/nn/losses.ts";
import { ones, zeros } from "../../../src/tensor/creation.ts";
import { key } from "../../../src/tensor/random.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { treeFlatten, treeMap } from "../../../src/tensor/tree.ts";
import { takeSamples } from "../../../src/data/batches.ts";
import type { ParameterTree } from "../../../src/nn/layer.ts";
import { classificationLearning } from "../../../tasks/papers/experiments/classification_recipe.ts";
import { eigenworms } from "../../../tasks/papers/recipes/fast_weights.ts";
import { speechCommands } from "../../../tasks/papers/recipes/neural_cde.ts";
import { valuesOf } from "../../../tasks/papers/recipes/recipe.ts";
import type { SeriesBatch } from "../../../src/series/targets/classifier.ts";
import type { PaperSeriesSettings } from "../../../tasks/papers/experiments/options.ts";
import { spirals } from "../../../tasks/papers/experiments/spirals.ts";
import type { Task } from "../../../src/train/task.ts";
import { testLong } from "../../devices.ts";

const settings: PaperSeriesSettings = { seed: 1, epochs: 1, batchSize: 32, learningRate: 0.001, hidden: 4 };
const paper = { ...settings, recipe: "paper" } as const;

Deno.test("the paper's recipe multiplies the readout's learning rate, and has a plateau of the training loss and early stopping", async () => {
  const make = () => zeros([2]);
  const [vectorField, readout] = [make(), make()].map((x) =>
    Linear({ inputs: 2, outputs: 2, key: key(Number(x.rank)) })
  );
  const parameters = { vectorField: vectorField.parameters, readout: readout.parameters };
  const { optimizer, plateau, plateauOf, stop } = classificationLearning({
    parameters,
    settings: paper,
    steps: 3,
    paper: { ...valuesOf(speechCommands.rules), readoutRate: 100 },
  });
  const before = treeFlatten(parameters).map(([name, x]) => [name, x.add(0)] as const);
  optimizer!.step({
    vectorField: { weight: ones([2, 2]), bias: ones([2]) },
    readout: { weight: ones([2, 2]), bias: ones([2]) },
  });
  const after = new Map<string, Tensor>(treeFlatten(parameters));
  for (const [name, x] of before) {
    const moved = await x.sub(after.get(name)!).mean().item();
    const expected = name.startsWith("readout") ? 0.1 : 0.001;
    assert.ok(Math.abs(moved - expected) < 1e-3 * expected, `${name} moved by ${moved}`);
  }
  assert.equal(plateauOf, "training");
  // An epoch has three steps. Ten epochs without improvement are tolerated.
  for (let step = 0; step < 3 * 11; step++) assert.equal(plateau!.update(1), 1);
  for (let step = 0; step < 3; step++) plateau!.update(1);
  assert.equal(plateau!.state.factor, 0.1);
  assert.equal(stop!.after, 100);
  assert.deepEqual(stop!.unless.map(({ part, measure }) => `${part} ${measure}`), [
    "train loss",
    "validation accuracy",
  ]);
});

testLong("in a mean of models, the factor applies to the readout of each model", async () => {
  const { parameters } = await spirals.prepare({ ...paper, model: "delta" });
  const { optimizer, plateauOf } = classificationLearning({
    ...{
      parameters,
      settings: paper,
      steps: 1,
      paper: { ...valuesOf(speechCommands.rules), readoutRate: 100 },
    },
  });
  const before = treeFlatten(parameters).map(([name, x]) => [name, x.add(0)] as const);
  optimizer!.step(treeMap(parameters, (x) => ones(x.shape)));
  const after = new Map<string, Tensor>(treeFlatten(parameters));
  const readouts = new Set<string>();
  for (const [name, x] of before) {
    const moved = await x.sub(after.get(name)!).mean().item();
    const readout = /^(\d+)\.readout\./.exec(name);
    if (readout) readouts.add(readout[1]);
    const expected = readout ? 0.1 : 0.001;
    assert.ok(Math.abs(moved - expected) < 1e-3 * expected, `${name} moved by ${moved}`);
  }
  assert.deepEqual([...readouts], ["0", "1"]);
  assert.equal(plateauOf, "training");
});

for (const model of ["neural-cde", "gru-ode", "ode-rnn"]) {
  testLong(
    `the weight penalty of ${model} applies only in training, to all weights or to the vector field's weights`,
    async () => {
      const task = await spirals.prepare({ ...paper, model, intensity: true }) as Task<SeriesBatch>;
      const batch = takeSamples(task.data.test, Int32Array.of(0, 1, 2));
      const { vectorField } = task.parameters as { vectorField: ParameterTree };
      const [training, testing] = [task.evaluate(batch, key(0)), task.evaluate(batch)].map(({ loss }) =>
        loss
      );
      const penalized = model === "ode-rnn" ? task.parameters : vectorField;
      const penalty = await l2Penalty(penalized, { norms: true }).item();
      assert.ok(Math.abs(await training.sub(testing).item() - 0.03 * penalty) < 1e-4);
    },
  );
}

Deno.test("the short recipe has no weight penalty", async () => {
  const task = await spirals.prepare(settings) as Task<SeriesBatch>;
  const batch = takeSamples(task.data.test, Int32Array.of(0, 1, 2));
  const [a, b] = [task.evaluate(batch, key(0)), task.evaluate(batch)].map(({ loss }) => loss);
  assert.equal(await a.sub(b).item(), 0);
});

testLong(
  "models and repeats with the paper's recipe or the same data seed share the split and the dropped observations",
  async () => {
    const prepare = async (changes: Partial<PaperSeriesSettings>) =>
      await spirals.prepare({ ...settings, drop: 0.3, ...changes }) as Task<SeriesBatch>;
    const first = await prepare({ recipe: "paper", seed: 1 });
    const firstWeights = await treeFlatten(first.parameters)[0][1].data();
    for (
      const changes of [{ recipe: "paper", seed: 2 }, { dataSeed: 0, seed: 3, model: "gru-ode" }] as const
    ) {
      const other = await prepare(changes);
      assert.deepEqual(other.record!.split, first.record!.split);
      assert.deepEqual(await other.data.train.coeffs.data(), await first.data.train.coeffs.data());
      assert.notDeepEqual(await treeFlatten(other.parameters)[0][1].data(), firstWeights);
    }
    const otherSeed = await prepare({ seed: 2 });
    assert.notDeepEqual(otherSeed.record!.split, first.record!.split);
  },
);

testLong("in the paper's recipe, two classes have one output and a positive class weight", async () => {
  const task = await spirals.prepare({ ...paper, positiveWeight: 10 }) as Task<SeriesBatch>;
  const readout = new Map<string, Tensor>(treeFlatten(task.parameters)).get("readout.bias")!;
  assert.deepEqual(readout.shape, [1]);
  const plain = await spirals.prepare(paper) as Task<SeriesBatch>;
  const only = async (label: number) => {
    const labels = [...await task.data.test.labels.data()];
    const batch = takeSamples(task.data.test, Int32Array.of(labels.indexOf(label)));
    const [weighted, even] = [task, plain].map(({ evaluate }) => evaluate(batch).loss);
    return await weighted.div(even).item();
  };
  assert.ok(Math.abs(await only(1) - 10) < 1e-3);
  assert.ok(Math.abs(await only(0) - 1) < 1e-6);
});

Deno.test("a rule of the accuracy alone stops training whatever the loss does", () => {
  const { stop, plateau, plateauOf } = classificationLearning({
    ...{ parameters: { x: zeros([1]) }, settings: paper, steps: 1 },
    paper: valuesOf(eigenworms.rules),
  });
  assert.deepEqual(stop, {
    after: 60,
    unless: [{ part: "validation", measure: "accuracy", mode: "max", threshold: 0 }],
  });
  assert.equal(plateauOf, "validation loss");
  const factors = Array.from({ length: 17 }, () => plateau!.update(1));
  assert.deepEqual(factors.slice(-2), [1, 0.1]);
  assert.equal(plateau!.update(1 - 1e-5), 0.1, "an improvement above the threshold starts the count anew");
  assert.equal(plateau!.state.waited, 0);
});
