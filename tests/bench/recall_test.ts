import assert from "node:assert/strict";
import {
  recallFigure,
  type RecallRun,
  type RecallSetting,
  recallSetting,
  trainRecall,
} from "../../bench/recall.ts";
import { testLong } from "../devices.ts";

/** A task that takes seconds: fewer keys and values, and short series. */
const short: RecallSetting = {
  ...recallSetting,
  sizes: { keys: 2, values: 4, writes: 2, hold: 6 },
  modelDim: 8,
  stages: [{ length: 40, steps: 250 }],
  tests: { lengths: [40, 200], series: 128 },
};

testLong(
  "the delta rule with postTanh learns to recall the last value of a key, Hebb's rule does not",
  async () => {
    const run = await trainRecall("delta, post tanh", 0, short);
    for (const { accuracy } of run.tests) assert.ok(accuracy > 0.95, JSON.stringify(run.tests));
    const hebb = await trainRecall("hebb", 0, short);
    // Hebb's rule cannot determine which of the two values was last.
    for (const { accuracy } of hebb.tests) assert.ok(accuracy < 0.65, JSON.stringify(hebb.tests));
  },
);

testLong("the same seed gives the same results", async () => {
  const few: RecallSetting = {
    ...short,
    stages: [{ length: 40, steps: 3 }],
    tests: { lengths: [40], series: 32 },
  };
  const [a, b] = [await trainRecall("oja", 1, few), await trainRecall("oja", 1, few)];
  assert.deepEqual(a, b);
  assert.deepEqual(a.points.map(({ step, length }) => [step, length]), [[1, 40], [2, 40], [3, 40]]);
});

const runs: RecallRun[] = [0.5, 0.75].map((accuracy, seed) => ({
  rule: "hebb",
  seed,
  points: [{ step: 1, length: 128, loss: 1, accuracy: 0.25 }, { step: 2, length: 128, loss: 1, accuracy }],
  tests: [{ length: 4096, accuracy }],
}));

Deno.test("the recall figure is an SVG file with one line per seed in the colour of its rule", () => {
  const svg = recallFigure(runs);
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.equal(svg.match(/<g class="c0 solid"/g)!.length, 2);
});
