import assert from "node:assert/strict";
import type { EnvironmentModel, Transition } from "../../../tasks/papers/control/environment_model.ts";
import { type Environment, timeUnit } from "../../../tasks/papers/control/environments.ts";
import { Planner } from "../../../tasks/papers/control/planner.ts";
import { discountAfter, returnOf } from "../../../tasks/papers/control/rewards.ts";
import { key, scan, type Tensor, tensor } from "../../../mod.ts";
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
  rollout(state, rows, act = (_state, action) => action) {
    const [, transitions] = scan(
      (x: Tensor, row: Tensor): [Tensor, Transition] => {
        const action = act(x, row);
        const next = x.add(action);
        return [next, { state: x, action, gap: x.zerosLike().add(timeUnit), next }];
      },
      state,
      rows,
    );
    return transitions;
  },
} as EnvironmentModel;

/** An actor that rests, and a critic that knows only the reward of the state. */
const agent = {
  act: (state: Tensor) => state.zerosLike(),
  value: (state: Tensor) => state.square().neg(),
};

const fixed = { environment: line, model: exact, agent, discount: 0.9 };

/** Plans `(batch, horizon)` as the actions of a rollout. */
const rows = (plans: Tensor) => plans.transpose(0, 1).expandDims(-1);

Deno.test("a planner moves each state of a batch toward the reward", async () => {
  const plan = Planner({ ...fixed, horizon: 4, candidates: 256 });
  const actions = await plan(tensor([[2.5], [-2.5], [0]]), key(0)).data();
  assert.ok(actions[0] < -0.7 && actions[4] > 0.7, `${actions}`);
  assert.ok(Math.abs(actions[8]) < 0.4, `${actions}`);
  assert.ok(actions.every((action) => Math.abs(action) <= 1));
});

Deno.test("the critic's value of the last state counts", async () => {
  const value = (state: Tensor) => state.sub(0.3).square().mul(-100);
  const plan = Planner({ ...fixed, agent: { ...agent, value }, horizon: 1, candidates: 256 });
  const [action] = await plan(tensor([[0.5]]), key(0)).data();
  assert.ok(Math.abs(action + 0.2) < 0.05, `${action}`);
});

Deno.test("candidates are around the actor's plan", async () => {
  const act = (state: Tensor) => state.neg().clip(-0.9, 0.9);
  const returns = await Promise.all([act, agent.act].map(async (act) => {
    const plan = Planner({ ...fixed, agent: { ...agent, act }, horizon: 30, candidates: 16 });
    const { rewards } = returnOf(
      line,
      exact.rollout(tensor([[20]]), rows(plan(tensor([[20]]), key(0)))),
      0.9,
    );
    return await rewards.item();
  }));
  assert.ok(returns[0] > returns[1] + 20, `${returns}`);
});

Deno.test("rewards are discounted by the time since the first decision", async () => {
  const state = tensor([1, 2, 3], { shape: [3, 1, 1] });
  const gap = tensor([0.05, 0.1, 0.05], { shape: [3, 1, 1] });
  const { rewards, time } = returnOf(line, { state, action: state, gap, next: state }, 0.5);
  // -1 * 1 - 4 * 2 * 0.5 - 9 * 1 * 0.5 ** 3
  assert.ok(Math.abs(await rewards.item() + 1 + 4 + 9 / 8) < 1e-5);
  assert.ok(Math.abs(await discountAfter(time, 0.5).item() - 1 / 16) < 1e-6);
});
