/** Results are bitwise equal for any number of threads. */
import assert from "node:assert/strict";
import {
  Adam,
  CubicSpline,
  deltaRule,
  FastWeightCDE,
  init,
  key,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  valueAndGrad,
} from "../../mod.ts";
import { defaultSettings, experimentNamed } from "../runs.ts";
import { train } from "../../src/train/loop.ts";
import { createRun } from "../../src/train/run/run_folder.ts";
import type { ParameterTree } from "../../src/nn/layer.ts";
import { treeLeaves } from "../../src/tensor/tree.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { cpu } from "../devices.ts";
import { setCurrentDevice } from "../../src/device/current.ts";

/** A model's outputs along a control, with parameters created on the current device. */
type Make = (X: CubicSpline) => { parameters: ParameterTree; apply: () => Tensor };

const makes: Record<string, Make> = {
  "a Neural CDE, directly": neuralCde("direct"),
  "a Neural CDE, by the continuous adjoint": neuralCde("continuous"),
  "fast weights": (X) => {
    const sizes = { inputChannels: 3, modelDim: 16, heads: 4, feedForward: 16, outputChannels: 2 };
    const model = FastWeightCDE({ ...sizes, rule: deltaRule(), key: key(1), method: "rk4", stepSize: 1 });
    return { parameters: model.parameters, apply: () => model(X) };
  },
};

function neuralCde(adjoint: "direct" | "continuous"): Make {
  return (X) => {
    const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 2, width: 16, depth: 1 };
    const model = NeuralCDE({ ...sizes, key: key(1), method: "rk4", stepSize: 1, adjoint });
    return { parameters: model.parameters, apply: () => model(X) };
  };
}

/** Losses of three training steps, and the parameters after them. */
async function trained(make: Make, batch: number): Promise<number[]> {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [batch, 30, 3]).cumsum(1)));
  const { parameters, apply } = make(X);
  const optimizer = Adam(parameters, { learningRate: 0.01 });
  const lossAndGradients = valueAndGrad(() => apply().square().mean());
  const losses: number[] = [];
  for (let step = 0; step < 3; step++) {
    const [loss, gradients] = lossAndGradients(parameters);
    losses.push(await loss.item());
    optimizer.step(gradients);
  }
  const values = await Promise.all(treeLeaves(parameters).map(async (leaf) => [...await leaf.data()]));
  return [...losses, ...values.flat()];
}

for (const [name, make] of Object.entries(makes)) {
  Deno.test({
    name: `training gives the same bits on 1, 2 and 3 threads: ${name}`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const results: number[][] = [];
      for (const threads of [1, 2, 3]) {
        await init({ device: "cpu", threads });
        try {
          // Five samples fill a tile of one vector and part of another. 37 samples leave one tile incomplete.
          results.push([...await trained(make, 5), ...await trained(make, 37)]);
        } finally {
          setCurrentDevice(cpu);
        }
      }
      for (const result of results) assert.deepEqual(result, results[0]);
    },
  });
}

Deno.test({
  name: "a whole run gives the same bits on 1, 2 and 3 threads",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const settings = {
      ...defaultSettings("spirals"),
      seed: 3,
      epochs: 1,
      batchSize: 128,
      hidden: 16,
    };
    const out = await Deno.makeTempDir();
    try {
      const results: unknown[] = [];
      for (const threads of [1, 2, 3]) {
        await init({ device: "cpu", threads });
        const folder = await createRun(out, `threads-${threads}`, {});
        const task = await experimentNamed("spirals").prepare(settings);
        const { metrics } = await train(task, { epochs: 1, batchSize: 128, key: key(1), folder });
        const weights = await Deno.readFile(folder.best);
        results.push([metrics.map((line) => ({ ...line, seconds: 0 })), weights]);
      }
      for (const result of results) assert.deepEqual(result, results[0]);
    } finally {
      setCurrentDevice(cpu);
      await Deno.remove(out, { recursive: true });
    }
  },
});

Deno.test("init returns one device per number of threads and rejects invalid numbers", async () => {
  const two = await init({ device: "cpu", threads: 2 });
  assert.match(two.info.description, /2 threads/);
  assert.equal(await init({ device: "cpu", threads: 2 }), two);
  for (const threads of [0, -1, 1.5, NaN, 65]) {
    await assert.rejects(init({ device: "cpu", threads }), /threads must be a whole number from 1 to 64/);
  }
  await assert.rejects(init({ device: "webgpu", threads: 2 }), /threads is an option of the CPU device/);
  setCurrentDevice(cpu);
});
