import assert from "node:assert/strict";
import { Normalizer } from "../../../../tasks/papers/control/mujoco/normalizer.ts";
import { emptyWindows, WindowMemory } from "../../../../tasks/papers/control/mujoco/windows.ts";
import { key, tensor } from "../../../../mod.ts";
import { cpu, useDevice } from "../../../devices.ts";

useDevice(cpu);

const sizes = { length: 2, values: 2, actions: 1 };

/** Decision i goes from observation [i, -i] to [i + 1, -i - 1]. */
const decision = (i: number, isTerminal = false) => ({
  ...{ observation: [i, -i], next: [i + 1, -i - 1], actions: [i / 10], gap: 1 + i % 7, reward: 2 * i },
  isTerminal,
});

/** A memory with an episode of three decisions, which ends, and one of two, which does not. */
function filled(capacity: number): WindowMemory {
  const memory = WindowMemory({ ...sizes, capacity });
  for (const i of [0, 1, 2]) memory.add(decision(i, i === 2), i === 2);
  for (const i of [10, 11]) memory.add(decision(i), i === 11);
  return memory;
}

/** Values of tensors. */
const lists = async (...tensors: { data(): Promise<ArrayLike<number>> }[]) =>
  await Promise.all(tensors.map(async (x) => Array.from(await x.data())));

Deno.test("stored decisions have their rewards, next observations and discounts, and none after an end", async () => {
  const memory = filled(5);
  assert.equal(memory.size, 5);
  const places = memory.places([0, 0.2, 0.4, 0.6, 0.8]);
  const { state, next, action, gap, reward, future } = memory.take(places, 0.5);
  const [states, nexts, actions, gaps, rewards, futures] = await lists(
    ...[state, next, action, gap, reward, future],
  );
  assert.deepEqual(states, [0, -0, 1, -1, 2, -2, 10, -10, 11, -11]);
  assert.deepEqual(nexts, [1, -1, 2, -2, 3, -3, 11, -11, 12, -12]);
  assert.deepEqual(actions.map((a) => Math.round(10 * a)), [0, 1, 2, 10, 11]);
  assert.deepEqual([gaps, rewards], [[1, 2, 3, 4, 5], [0, 2, 4, 20, 22]]);
  assert.deepEqual(futures.map((value) => value.toFixed(5)), [
    "0.50000",
    "0.25000",
    "0.00000",
    "0.06250",
    "0.03125",
  ]);
});

Deno.test("training windows are stored windows, and unused places have a time gap of zero", async () => {
  const memory = filled(5);
  const windows = emptyWindows(40, sizes);
  await memory.draw(windows, (x) => x.mul(2), key(0));
  const [states, gaps] = await lists(windows.states, windows.gaps);
  const found = new Set(
    gaps.map((_, i) => i).filter((i) => i % 2 === 0).map((i) =>
      `${states.slice(3 * i, 3 * i + 6)} ${gaps.slice(i, i + 2)}`
    ),
  );
  assert.deepEqual([...found].sort(), [
    "0,0,2,-2,4,-4 1,2",
    "20,-20,22,-22,24,-24 4,5",
    "4,-4,6,-6,0,0 3,0",
  ]);
});

Deno.test("later windows replace the first ones, and a memory that is loaded again has the same decisions", async () => {
  const memory = filled(2);
  for (let i = 0; i < 2; i++) {
    assert.equal(memory.size, 3);
    const { reward } = memory.take(memory.places([0, 0.34, 0.67]), 0.9);
    assert.deepEqual((await lists(reward))[0].sort((a, b) => a - b), [4, 20, 22]);
    await memory.load();
  }
});

Deno.test("a normalizer has the mean and the standard deviation of the observations, also after it was loaded", async () => {
  const normalizer = Normalizer(2);
  const rows = [[1, 5], [2, 5], [6, 5], [7, 5]];
  for (const row of rows.slice(0, 2)) normalizer.add(row);
  normalizer.update();
  await normalizer.load();
  for (const row of rows.slice(2)) normalizer.add(row);
  normalizer.update();
  const { mean, standardDeviation } = normalizer.parameters;
  const [means, deviations] = await lists(mean, standardDeviation);
  assert.deepEqual(means, [4, 5]);
  assert.ok(Math.abs(deviations[0] - Math.sqrt(6.5)) < 1e-6 && deviations[1] > 0);
  const x = tensor([[3, 5]]);
  assert.deepEqual((await lists(normalizer.restore(normalizer.normalize(x))))[0], [3, 5]);
});
