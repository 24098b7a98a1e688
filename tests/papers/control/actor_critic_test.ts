import assert from "node:assert/strict";
import {
  ActorCritic,
  actorCriticErrors,
  rewarded,
  withTarget,
} from "../../../tasks/papers/control/actor_critic.ts";
import type { Transition } from "../../../tasks/papers/control/environment_model.ts";
import { timeUnit } from "../../../tasks/papers/control/environments.ts";
import { pendulum } from "../../../tasks/papers/control/pendulum.ts";
import { Adam, grad, key, type Tensor, tensor, treeLeaves, uniform } from "../../../mod.ts";
import { cpu, useDevice } from "../../devices.ts";

useDevice(cpu);

const discount = 0.9;
const scale = 1 / (1 - discount);
const [learned, target] = [key(0), key(1)].map((key) => ActorCritic(pendulum, scale, key));
const draw = (n: number, channels: number) => uniform(key(n), [4, channels], { low: -1, high: 1 });
/** Four transitions. The last one has no time gap: it is after the end of an episode. */
const transitions: Transition = {
  ...{ state: draw(2, 2), action: draw(3, 1), next: draw(4, 2) },
  gap: tensor([1, 0.5, 1.5, 0].map((units) => units * timeUnit), { shape: [4, 1] }),
};

const decisions = rewarded(pendulum, discount, transitions);
const losses = () => actorCriticErrors(scale, { learned, target }, decisions);

/** Values of a tensor with one channel. */
const valuesOf = async (x: Tensor) => [...await x.data()];

Deno.test("the critic's loss is the squared error of Bellman's equation, with the discount of the time gap", async () => {
  const { state, action, gap, next } = transitions;
  const [gaps, rewards, values, rest] = await Promise.all(
    [gap, pendulum.reward(state, action), learned.value(state, action), target.value(next, target.act(next))]
      .map(valuesOf),
  );
  const errors = [0, 1, 2].map((i) => {
    const units = gaps[i] / timeUnit;
    return values[i] - (rewards[i] * units + discount ** units * rest[i]);
  });
  const wanted = errors.reduce((sum, error) => sum + ((1 - discount) * error) ** 2, 0) / 3;
  assert.ok(Math.abs(await losses().critic.item() / wanted - 1) < 1e-4);
});

Deno.test("the actor's loss raises the critic's value of the actor's action, and leaves the critic as it is", async () => {
  const gradients = grad(() => losses().actor)(learned.parameters);
  const changes = await Promise.all(treeLeaves(gradients.critic).map((x) => x.abs().max().item()));
  assert.ok(changes.every((change) => change < 1e-7), `${changes}`);
  const { state } = transitions;
  const agent = ActorCritic(pendulum, scale, key(0));
  const value = () => agent.value(state, agent.act(state)).slice(0, 0, 3).mean().item();
  const before = await value();
  const optimizer = Adam(agent.parameters.actor, { learningRate: 1e-3 });
  optimizer.step(gradients.actor);
  assert.ok(await value() > before);
});

Deno.test("each step moves the target networks toward the learned ones", async () => {
  const [agent, follower] = [key(5), key(6)].map((key) => ActorCritic(pendulum, scale, key));
  const distances = () =>
    Promise.all(
      treeLeaves(agent.parameters).map((x, i) => x.sub(treeLeaves(follower.parameters)[i]).norm().item()),
    );
  const optimizer = withTarget(
    Adam(agent.parameters, { learningRate: 0 }),
    { learned: agent, target: follower },
    0.25,
  );
  const before = await distances();
  const both = { learned: agent, target: follower };
  optimizer.step(
    grad(() => actorCriticErrors(scale, both, decisions).critic)(agent.parameters),
  );
  (await distances()).forEach((distance, i) => assert.ok(Math.abs(distance - 0.75 * before[i]) < 1e-5));
});
