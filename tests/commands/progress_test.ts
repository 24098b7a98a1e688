import assert from "node:assert/strict";
import { epochLine, progressLine } from "../../src/commands/progress.ts";

Deno.test("the progress bar shows epoch, loss, metric, speed and remaining time", () => {
  const line = progressLine({
    epoch: 3,
    batch: 6,
    batches: 24,
    measures: { loss: 0.123456, accuracy: 0.9 },
    samplesPerSecond: 1234.4,
    secondsLeft: 75,
  }, 10);
  assert.equal(
    line,
    `epoch  3/10 ${"█".repeat(6)}${
      "░".repeat(18)
    } loss 0.1235, accuracy 90.00 %  1234 samples/s  1 minute 15 seconds left`,
  );
});

Deno.test("the line of an epoch shows training and validation metrics", () => {
  const line = epochLine({
    epoch: 1,
    step: 5,
    learningRate: 0.1,
    train: { loss: 1.5, accuracy: 0.5 },
    validation: { loss: 1.25, accuracy: 0.75 },
    seconds: 9.87,
  }, 2);
  assert.equal(
    line,
    "epoch 1/2  train loss 1.5, accuracy 50.00 %  validation loss 1.25, accuracy 75.00 %  9.9 seconds",
  );
});
