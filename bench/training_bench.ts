/** One training step of the spirals experiment: loss, gradients and Adam on a batch of 32, and the loss alone. */
import { valueAndGrad } from "../mod.ts";
import { takeSamples } from "../src/data/batches.ts";
import { spirals } from "../src/train/experiments/spirals.ts";
import { benchOnDevices } from "./devices.ts";

const settings = { seed: 0, ...spirals.defaults };

async function prepare() {
  const task = await spirals.prepare(settings);
  const batch = takeSamples(task.data.train, Array.from({ length: settings.batchSize }, (_, i) => i));
  return { task, loss: () => task.evaluate(batch).loss };
}

await benchOnDevices("spirals, loss of a batch", async () => (await prepare()).loss);
await benchOnDevices("spirals, training step", async () => {
  const { task, loss } = await prepare();
  return () => task.optimizer.step(valueAndGrad(loss)(task.parameters)[1]);
});
