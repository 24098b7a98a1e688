/**
 * The spirals experiment: splines of 512 series, the loss of a batch of 32, and a training step: loss,
 * gradients and Adam.
 */
import { key, naturalCubicCoeffs, normal, valueAndGrad } from "../mod.ts";
import { takeSamples } from "../src/data/batches.ts";
import { spirals } from "../tasks/papers/experiments/spirals.ts";
import { defaultsOf } from "../src/train/option.ts";
import type { RunSettings } from "../src/train/experiment.ts";
import { benchOnDevices } from "./devices.ts";

const settings = { seed: 0, ...defaultsOf(spirals.options) } as unknown as RunSettings & {
  batchSize: number;
};

async function prepare() {
  const task = await spirals.prepare(settings);
  const batch = takeSamples(task.data.train, Array.from({ length: settings.batchSize }, (_, i) => i));
  return { task, loss: () => task.evaluate(batch).loss };
}

await benchOnDevices("spirals, natural cubic splines of 512 x 64 x 3", () => {
  const x = normal(key(0), [512, 64, 3]);
  return () => naturalCubicCoeffs(x);
});
await benchOnDevices("spirals, loss of a batch", async () => (await prepare()).loss);
await benchOnDevices("spirals, training step", async () => {
  const { task, loss } = await prepare();
  return () => task.optimizer!.step(valueAndGrad(loss)(task.parameters)[1]);
});
