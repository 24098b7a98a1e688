import assert from "node:assert/strict";
import { key } from "../../../mod.ts";
import type { Segments, Transition } from "../../../tasks/papers/control/environment_model.ts";
import { pendulumControl } from "../../../tasks/papers/experiments/control.ts";
import { defaultsOf } from "../../../src/train/option.ts";
import { evaluate } from "../../../src/train/evaluate.ts";
import { train } from "../../../src/train/loop.ts";
import { runFolder } from "../../../src/train/run/run_folder.ts";
import { cpu, testLong, useDevice } from "../../devices.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { assertSame } from "../../train/tiny_run.ts";

useDevice(cpu);

const tiny = { hidden: 4, segments: 64, planLength: 3, candidates: 8, epochs: 2, seed: 0 };
const prepare = async (settings: object = {}) =>
  await pendulumControl.prepare({ ...defaultsOf(pendulumControl.options), ...tiny, ...settings });

Deno.test("an epoch stores an episode and fills the training data from it", async () => {
  const task = await prepare();
  const { replay } = task.state as unknown as { replay: { gaps: Segments["gaps"] } };
  await task.collect!(1);
  const [episode] = await replay.gaps.sum([1, 2]).data();
  assert.ok(Math.abs(episode - 9.95) < 1e-4);
  const { segments, transitions } = task.data.train as { segments: Segments; transitions: Transition };
  for (const gaps of [segments.gaps, transitions.gap]) assert.ok(await gaps.mean().item() > 0.045);
});

testLong("a resumed run of the control task equals an uninterrupted one, bit for bit", async () => {
  await withFolder(async (path) => {
    const [whole, resumed] = ["whole", "resumed"].map((name) => runFolder(`${path}/${name}`));
    for (const { path } of [whole, resumed]) await Deno.mkdir(path);
    const options = { batchSize: 32, key: key(0), epochs: 2 };
    await train(await prepare(), { ...options, folder: whole });
    await train(await prepare(), { ...options, epochs: 1, folder: resumed });
    await train(await prepare(), { ...options, folder: resumed, resume: true });
    await assertSame(whole, resumed);
  })();
});

testLong("a short training swings the pendulum up, which random actions do not", async () => {
  await withFolder(async (path) => {
    const folder = runFolder(path);
    const settings = {
      hidden: 16,
      segments: 1600,
      planLength: 10,
      candidates: 48,
      epochs: 5,
      gaps: "irregular",
    };
    const task = await prepare(settings);
    await train(task, { batchSize: 8, key: key(0), epochs: 5, folder });
    const { return: planned } = await evaluate(task, task.data.test, 32);
    const { baselines, sections } = await task.evaluatePredictions!();
    assert.ok(planned > baselines["random actions"].return / 2, `${planned}`);
    assert.deepEqual((await sections()).map(({ title }) => title.replace(/ of the .*/, "")), [
      "Returns of training episodes",
      "Instants",
      "Course",
      "Predictions",
    ]);
  })();
});
