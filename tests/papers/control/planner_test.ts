import assert from "node:assert/strict";
import type { EnvironmentModel, Transition } from "../../../tasks/papers/control/environment_model.ts";
import { type Environment, timeGap, timeUnit } from "../../../tasks/papers/control/environments.ts";
import { playersOf, testKey } from "../../../tasks/papers/control/evaluation.ts";
import { pendulum } from "../../../tasks/papers/control/pendulum.ts";
import { Planner } from "../../../tasks/papers/control/planner.ts";
import { discountAfter, returnOf } from "../../../tasks/papers/control/rewards.ts";
import { pendulumControl } from "../../../tasks/papers/experiments/control.ts";
import { defaultsOf } from "../../../src/train/option.ts";
import { key, scan, type Tensor, tensor, zeros } from "../../../mod.ts";
import { cpu, useDevice } from "../../devices.ts";

useDevice(cpu);

/** A point on a line that an action moves: x' = x + a. The reward is -x^2. */
const line = {
  ...{ states: ["x"], changes: [1], features: 1 },
  featuresOf: (state: Tensor) => state,
  reward: (state: Tensor) => state.square().neg(),
} as unknown as Environment;

/** The exact model of the line, with a time gap of one unit. */
const exact = {
  rollout(state, actions) {
    const [, transitions] = scan(
      (x: Tensor, action: Tensor): [Tensor, Transition] => {
        const next = x.add(action);
        return [next, { state: x, action, gap: x.zerosLike().add(timeUnit), next }];
      },
      state,
      actions,
    );
    return transitions;
  },
} as EnvironmentModel;

Deno.test("a planner moves each state of a batch toward the reward", async () => {
  const plan = Planner({
    environment: line,
    model: exact,
    horizon: 4,
    candidates: 256,
    discount: 0.9,
  });
  const state = tensor([[2.5], [-2.5], [0]]);
  let plans = zeros([3, 4]);
  for (let i = 0; i < 3; i++) plans = plan(state, plans, key(i));
  const actions = await plans.data();
  assert.ok(actions[0] < -0.7 && actions[4] > 0.7, `${actions}`);
  assert.ok(Math.abs(actions[8]) < 0.4, `${actions}`);
  assert.ok(actions.every((action) => Math.abs(action) <= 1));
});

Deno.test("the reward of the last state counts", async () => {
  const plan = Planner({ environment: line, model: exact, horizon: 1, candidates: 256, discount: 0.9 });
  const [action] = await plan(tensor([[0.5]]), zeros([1, 1]), key(0)).data();
  assert.ok(Math.abs(action + 0.5) < 0.1, `${action}`);
});

Deno.test("rewards are discounted by the time since the first decision", async () => {
  const state = tensor([1, 2, 3], { shape: [3, 1, 1] });
  const gap = tensor([0.05, 0.1, 0.05], { shape: [3, 1, 1] });
  const { rewards, time } = returnOf(line, { state, action: state, gap, next: state }, 0.5);
  // -1 * 1 - 4 * 2 * 0.5 - 9 * 1 * 0.5 ** 3
  assert.ok(Math.abs(await rewards.item() + 1 + 4 + 9 / 8) < 1e-5);
  assert.ok(Math.abs(await discountAfter(time, 0.5).item() - 1 / 16) < 1e-6);
});

/** A model that knows the pendulum's equations of motion and irregular time gaps: one midpoint step per gap. */
const exactPendulum = {
  rollout(state, actions) {
    const [, transitions] = scan(
      (state: Tensor, action: Tensor): [Tensor, Transition] => {
        const gap = timeGap(pendulum, "irregular", state);
        const middle = state.add(pendulum.field(state, action).mul(gap.div(2)));
        const next = state.add(pendulum.field(middle, action).mul(gap));
        return [next, { state, action, gap, next }];
      },
      state,
      actions,
    );
    return transitions;
  },
} as EnvironmentModel;

Deno.test("plans of the default length swing the pendulum up if the model is exact", async () => {
  const { planLength: horizon, candidates } = defaultsOf(pendulumControl.options) as {
    planLength: number;
    candidates: number;
  };
  const plan = Planner({ environment: pendulum, model: exactPendulum, horizon, candidates, discount: 0.98 });
  const play = playersOf(pendulum, "irregular", { horizon, plan });
  const hanging = tensor([[Math.PI, 0], [2.3, -0.2], [-2.1, 0.4], [2.5, 0.8]]);
  const [planned, reference] = await Promise.all(
    [play.planner, play["hand-written controller"]].map((player) => player(hanging, testKey).returns.data()),
  );
  planned.forEach((value, i) => assert.ok(value > 1.2 * reference[i], `${planned}, controller ${reference}`));
});
