import assert from "node:assert/strict";
import { stateTrackingSetting, trackers, trackStates } from "../../bench/state_tracking.ts";
import { testLong } from "../devices.ts";

const { steps: fullSteps } = stateTrackingSetting;
const steps = { ...fullSteps, parity: 200, C5: 1 };
const short = {
  ...stateTrackingSetting,
  batchSize: 16,
  length: 12,
  steps,
  tests: { length: 40, series: 32 },
};

testLong("blocks with Euler's steps learn parity for longer words, positive factors do not", async () => {
  const blocks = await trackStates("parity", "CDE, blocks of 4, Euler", 0, short);
  assert.ok(blocks.short > 0.99 && blocks.long > 0.95, JSON.stringify(blocks));
  const positive = await trackStates("parity", "CDE, diagonal, exponential", 0, short);
  assert.ok(positive.long < 0.75, JSON.stringify(positive));
});

testLong("every compared model trains", async () => {
  const few = { ...short, tests: { length: 13, series: 2 } };
  for (const name of Object.keys(trackers)) {
    const { steps, long } = await trackStates("C5", name, 0, few);
    assert.equal(steps, 1);
    assert.ok(long >= 0 && long <= 1, name);
  }
});
