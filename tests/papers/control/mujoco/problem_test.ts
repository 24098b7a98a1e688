import assert from "node:assert/strict";
import { hopper } from "../../../../tasks/papers/control/mujoco/hopper.ts";
import {
  isTerminal,
  observe,
  predictedAlive,
  predictedReward,
  reward,
  timeGap,
} from "../../../../tasks/papers/control/mujoco/problem.ts";
import { swimmer } from "../../../../tasks/papers/control/mujoco/swimmer.ts";
import { tensor } from "../../../../mod.ts";
import { cpu, useDevice } from "../../../devices.ts";

useDevice(cpu);

/** An upright hopper with some replaced values. */
const hopping = (positions: Record<number, number> = {}, velocities: Record<number, number> = {}) => ({
  positions: Object.assign([3, 1.25, 0.1, -0.5, -0.6, 0.2], positions),
  velocities: Object.assign([1, -0.7, 0.05, 0.3, -1, 0.2], velocities),
});

Deno.test("an observation has x last, and the hopper's velocities are clipped to 10", () => {
  const velocities = [12, -0.7, 0.05, 0.3, -11, 0.2];
  assert.deepEqual(observe(hopper, hopping({}, velocities)), [
    ...[1.25, 0.1, -0.5, -0.6, 0.2],
    ...[10, -0.7, 0.05, 0.3, -10, 0.2],
    3,
  ]);
  const state = { positions: [1, 2, 3, 4, 5], velocities: [12, 0, 0, 0, -11] };
  assert.deepEqual(observe(swimmer, state), [2, 3, 4, 5, 12, 0, 0, 0, -11, 1]);
});

Deno.test("time gaps are those of the authors' formula, from 1 to 7 time steps", () => {
  const gapOf = (velocities: number[]) =>
    timeGap(swimmer, observe(swimmer, { positions: [9, 8, 7, 6, 5], velocities }));
  // Values of the formula in NumPy.
  const wanted: [number[], number][] = [
    [[0, 0, 0, 0, 0], 7],
    [[0.05, 0, 0, 0, 0], 1],
    [[0.02, 0.01, 0, 0, 0], 4],
    [[1.2, -0.7, 0.05, 0.3, -0.1], 4],
    [[3.0, 0.4, -0.2, 0.7, 1.1], 7],
  ];
  for (const [velocities, gap] of wanted) assert.equal(gapOf(velocities), gap, `${velocities}`);
});

Deno.test("the hopper's time gap depends on clipped velocities", () => {
  const velocities = [12, -0.7, 0.05, 0.3, -11, 0.2];
  assert.equal(timeGap(hopper, observe(hopper, hopping({}, velocities))), 2);
});

Deno.test("the reward is the mean velocity, with a cost of actions, and 1 for a hopper that is alive", () => {
  const near = (found: number, wanted: number) => assert.ok(Math.abs(found - wanted) < 1e-12, `${found}`);
  near(reward(swimmer, { distance: 0.08, actions: [0.5, -0.25], gap: 5 }), 1.59996875);
  near(reward(hopper, { distance: 0.01, actions: [1, 0.5, 0.25], gap: 3 }), 2.665354166666667);
});

Deno.test("the rewards that a planner predicts are those of the environment", async () => {
  const gap = 3;
  const actions = [1, 0.5, 0.25];
  const [before, after] = [hopping(), hopping({ 0: 3.01 })].map((state) => observe(hopper, state));
  const found = predictedReward(hopper, {
    ...{ state: tensor([before], { dtype: "float64" }), next: tensor([after], { dtype: "float64" }) },
    ...{ action: tensor([actions], { dtype: "float64" }), gap: tensor([[gap]], { dtype: "float64" }) },
  });
  assert.ok(Math.abs(await found.item() - 2.665354166666667) < 1e-10);
});

Deno.test("an episode ends when the hopper is low, leans or has a large value, and never for the swimmer", async () => {
  const ended = [
    hopping({ 1: 0.7 }),
    hopping({ 2: 0.2 }),
    hopping({ 2: -0.2 }),
    hopping({ 3: 100 }),
    hopping({ 5: NaN }),
  ];
  const alive = [hopping(), hopping({ 0: 1000 }), hopping({ 1: 0.71 }), hopping({ 2: -0.19 })];
  for (const state of ended) assert.ok(isTerminal(hopper, state), `${state.positions}`);
  for (const state of alive) assert.ok(!isTerminal(hopper, state), `${state.positions}`);
  assert.ok(isTerminal(hopper, hopping({}, { 4: 100 })));
  assert.ok(!isTerminal(swimmer, { positions: [0, 0, 0, 0, 0], velocities: [1e3, 0, 0, 0, 0] }));
  const predicted = await predictedAlive(
    hopper,
    tensor([...ended.slice(0, 4), alive[0], alive[2], alive[3]].map((state) => observe(hopper, state))),
  ).data();
  assert.deepEqual([...predicted], [0, 0, 0, 0, 1, 1, 1]);
});
