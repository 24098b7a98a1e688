import assert from "node:assert/strict";
import { withFolder } from "../tasks/command_line.ts";
import { averagePrecision, rocAuc } from "../../mod.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { train } from "../../src/train/loop.ts";
import { key } from "../../src/tensor/random.ts";
import type { EpochMetrics } from "../../src/train/report/epoch_metrics.ts";
import { createRun } from "../../src/train/run/run_folder.ts";
import { stagnated, type WatchedMeasure } from "../../src/train/stop.ts";
import { tinyTask } from "./tiny_task.ts";

const epochs = (values: number[]): EpochMetrics[] =>
  values.map((loss, i) => ({
    ...{ epoch: i + 1, step: i, learningRate: 1, seconds: 0 },
    train: { loss },
    validation: { accuracy: -loss },
  }));
const loss: WatchedMeasure = { part: "train", measure: "loss", mode: "min", threshold: 0.01 };
const accuracy: WatchedMeasure = { part: "validation", measure: "accuracy", mode: "max", threshold: 0 };

Deno.test("a metric stagnates if it has not improved for more epochs than the patience", () => {
  const rule = { after: 2, unless: [loss] };
  assert.equal(stagnated([], rule), undefined);
  assert.equal(stagnated(epochs([1, 2, 2]), rule), undefined);
  assert.equal(stagnated(epochs([1, 2, 2, 2]), rule), loss);
  assert.equal(stagnated(epochs([1, 2, 2, 0.5]), rule), undefined);
  // A change below one hundredth is no improvement.
  assert.equal(stagnated(epochs([1, 0.995, 0.995, 0.995]), rule), loss);
});

Deno.test("every metric of a stop rule counts separately, for any scale", () => {
  const values = [1, 0.999, 0.998, 0.997];
  assert.equal(stagnated(epochs(values), { after: 2, unless: [accuracy] }), undefined);
  assert.equal(stagnated(epochs(values), { after: 2, unless: [accuracy, loss] }), loss);
});

const never: WatchedMeasure = { part: "validation", measure: "loss", mode: "min", threshold: 0.999 };

Deno.test(
  "a stop rule ends training, also after resuming",
  withFolder(async (out) => {
    const folder = await createRun(out, "tiny", {});
    const task = { ...await tinyTask(), stop: { after: 2, unless: [never] } };
    const options = { batchSize: 8, key: key(1), folder };
    const { position, interrupted } = await train(task, { ...options, epochs: 50 });
    assert.equal(position.epoch, 4);
    assert.equal(interrupted, false);
    const again = await train(task, { ...options, epochs: 50, resume: true });
    assert.equal(again.position.epoch, 4);
  }),
);

Deno.test("scores of two classes are ranked over all samples, not per batch", async () => {
  const task = await tinyTask();
  type Batch = typeof task.data.test;
  const scores = ({ x, labels }: Batch) => ({ scores: x.select(-1, 1), labels });
  const measures = await evaluate({ ...task, scores }, task.data.test, 3);
  const [values, labels] = await Promise.all([
    task.data.test.x.select(-1, 1).data(),
    task.data.test.labels.data(),
  ]);
  assert.equal(measures.auc, rocAuc(values, labels));
  assert.equal(measures.averagePrecision, averagePrecision(values, labels));
  assert.equal((await evaluate(task, task.data.test, 3)).auc, undefined);
});
