import assert from "node:assert/strict";
import { cartPole } from "../../../tasks/papers/control/cart_pole.ts";
import {
  advance,
  decisions,
  duration,
  timeGap,
  timeUnit,
} from "../../../tasks/papers/control/environments.ts";
import { explorer, Player, reactive } from "../../../tasks/papers/control/episodes.ts";
import { energy, pendulum } from "../../../tasks/papers/control/pendulum.ts";
import { key, tensor, zeros } from "../../../mod.ts";
import { cpu, useDevice } from "../../devices.ts";

useDevice(cpu);

const float64 = { dtype: "float64" } as const;
const gap = tensor([[0.05], [0.05], [0.075]], float64);
const rest = zeros([3, 1], float64);

Deno.test("a pendulum without torque conserves its energy over ten seconds", async () => {
  const start = tensor([[3, 0.5], [0.4, -1], [-2, 2]], float64);
  let state = start;
  for (let i = 0; i < 200; i++) state = advance(pendulum, state, rest, gap);
  const [before, after] = await Promise.all([start, state].map((x) => energy(x).data()));
  assert.notDeepEqual(await start.data(), await state.data());
  after.forEach((value, i) => assert.ok(Math.abs(value - before[i]) < 1e-3, `${value} ${before[i]}`));
});

Deno.test("a hanging pendulum with a small amplitude a swings as a cos(sqrt(15) t)", async () => {
  let state = tensor([[Math.PI + 1e-4, 0]], float64);
  const [one, none] = [tensor([[0.05]], float64), zeros([1, 1], float64)];
  for (let i = 1; i <= 40; i++) {
    state = advance(pendulum, state, none, one);
    const [angle] = await state.data();
    assert.ok(Math.abs(angle - Math.PI - 1e-4 * Math.cos(Math.sqrt(15) * 0.05 * i)) < 1e-8);
  }
});

Deno.test("the torque accelerates a horizontal pendulum as Gym's equation, 3 g / (2 l) + 3 u / (m l^2)", async () => {
  const state = tensor([[Math.PI / 2, 0]], float64);
  const [velocity, acceleration] = await pendulum.field(state, tensor([[0.5]], float64)).data();
  assert.equal(velocity, 0);
  assert.ok(Math.abs(acceleration - (15 + 3 * 0.5 * 2)) < 1e-12);
});

Deno.test("the reward of a pendulum is Gym's, with the angle from -pi to pi", async () => {
  const state = tensor([[2 * Math.PI + 0.5, 3], [-3.5, 0]], float64);
  const found = await pendulum.reward(state, tensor([[1], [-0.5]], float64)).data();
  const wanted = [0.25 + 0.1 * 9 + 0.001 * 4, (2 * Math.PI - 3.5) ** 2 + 0.001];
  wanted.forEach((cost, i) => assert.ok(Math.abs(found[i] + cost) < 1e-12, `${found[i]} ${cost}`));
});

Deno.test("a cart-pole without force conserves horizontal momentum and energy", async () => {
  const start = tensor([[0.2, 0.5, 0.3, -1], [0, 3, 0, 0.5], [1, -2, -0.4, 2]], float64);
  let state = start;
  for (let i = 0; i < 100; i++) state = advance(cartPole, state, rest, gap);
  /** Total mass 1.1, pole mass 0.1, half its length 0.5, moment of inertia 4/3 m l^2 at its end. */
  const conserved = ([, angle, velocity, turning]: number[]) => [
    1.1 * velocity + 0.05 * turning * Math.cos(angle),
    1.1 * velocity ** 2 / 2 + 0.05 * velocity * turning * Math.cos(angle) + turning ** 2 * 0.1 / 6 +
    0.05 * 9.8 * Math.cos(angle),
  ];
  const [before, after] = await Promise.all([start, state].map(async (x) => [...await x.data()]));
  for (let i = 0; i < 3; i++) {
    const [found, wanted] = [after, before].map((values) => conserved(values.slice(4 * i, 4 * i + 4)));
    found.forEach((value, j) => assert.ok(Math.abs(value - wanted[j]) < 1e-4, `${found} ${wanted}`));
  }
});

Deno.test("springs at the ends of the track send the cart back", async () => {
  // The pole hangs, at first at rest, and the cart is pushed by no force.
  let state = tensor([[2, Math.PI, 3, 0]], float64);
  let far = 0;
  for (let i = 0; i < 20; i++) {
    state = advance(cartPole, state, zeros([1, 1], float64), tensor([[0.05]], float64));
    far = Math.max(far, (await state.data())[0]);
  }
  const [position, , velocity] = await state.data();
  assert.ok(far > 3 && far < 3.5 && position < 2.9 && velocity < -2, `${far} ${position} ${velocity}`);
});

Deno.test("irregular time gaps are a function of the angular velocity between half and one and a half units", async () => {
  const velocities = Array.from({ length: 100 }, (_, i) => i / 10 - 5);
  const state = tensor(velocities.map((velocity, i) => [i, velocity]));
  assert.ok(
    (await timeGap(pendulum, "regular", state).data()).every((gap) => Math.abs(gap - timeUnit) < 1e-8),
  );
  const gaps = await timeGap(pendulum, "irregular", state).data();
  gaps.forEach((gap, i) => assert.ok(Math.abs(gap - 0.05 * (1 + Math.cos(velocities[i]) / 2)) < 1e-6));
});

for (const gaps of ["regular", "irregular"] as const) {
  Deno.test(`an episode lasts ${duration} s and its return is the sum of rewards per time unit, with ${gaps} gaps`, async () => {
    // A constant torque holds the hanging pendulum at rest: 15 sin(angle) + 6 a = 0.
    const angle = Math.PI + Math.asin(6 * 0.5 / 15);
    const hold = reactive((state) => state.slice(-1, 0, 1).zerosLike().add(0.5));
    const { returns, gaps: lengths, states } = Player(pendulum, gaps, hold)(tensor([[angle, 0]]), key(0));
    assert.deepEqual(states.shape, [1, decisions + 1, 2]);
    assert.ok(Math.abs(await lengths.sum().item() - duration) < 1e-4);
    const wanted = -((angle - 2 * Math.PI) ** 2 + 0.001) * duration / timeUnit;
    assert.ok(Math.abs(await returns.item() / wanted - 1) < 1e-4, `${await returns.item()} ${wanted}`);
  });

  Deno.test(`the hand-written controllers reach and hold the upright position, with ${gaps} gaps`, async () => {
    for (const environment of [pendulum, cartPole]) {
      const player = Player(environment, gaps, reactive(environment.controller));
      const { states } = player(environment.start(32, key(5)), key(0));
      const end = states.slice(1, decisions - 10);
      const angle = environment === pendulum ? end.slice(-1, 0, 1) : end.slice(-1, 1, 2);
      const height = await angle.cos().min().item();
      assert.ok(height > 0.99, `${environment.states}: ${height}`);
    }
  });
}

Deno.test("random actions do not reach the upright position", async () => {
  const player = Player(pendulum, "regular", reactive((_state, { noise }) => noise));
  const { states } = player(pendulum.start(32, key(5)), key(0));
  assert.ok(await states.slice(1, decisions - 10).slice(-1, 0, 1).cos().min().item() < 0);
});

Deno.test("a cart that random actions send beyond its track has finite states, also after a long last gap", async () => {
  const player = Player(cartPole, "irregular", explorer);
  const { states, gaps } = player(cartPole.start(16, key(5)), key(0));
  assert.ok(await gaps.slice(1, decisions - 1).max().item() > 0.2);
  assert.ok((await states.data()).every(Number.isFinite));
});
