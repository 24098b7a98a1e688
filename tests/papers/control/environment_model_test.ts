import assert from "node:assert/strict";
import { environmentModels, type Segments } from "../../../tasks/papers/control/environment_model.ts";
import { pendulum } from "../../../tasks/papers/control/pendulum.ts";
import { Adam, checkGradients, key, tensor, tidy, uniform, valueAndGrad, zeros } from "../../../mod.ts";
import { cpu, testLong, useDevice } from "../../devices.ts";

useDevice(cpu);

const names = ["ode-rfwp", "ode-rnn"] as const;

/** Segments with random values. */
function segments(batch: number, length: number, dtype: "float32" | "float64" = "float32"): Segments {
  const draw = (n: number, shape: number[], low: number, high: number) =>
    uniform(key(n), shape, { low, high, dtype });
  return {
    states: draw(1, [batch, length + 1, 2], -1, 1),
    actions: draw(2, [batch, length, 1], -1, 1),
    gaps: draw(3, [batch, length, 1], 0.025, 0.075),
  };
}

for (const name of names) {
  Deno.test(`${name}: a rollout with given actions predicts the states of its own time gaps`, async () => {
    const model = environmentModels[name](pendulum, { hidden: 8, key: key(0) });
    const { states, actions } = segments(3, 5);
    const rows = actions.transpose(0, 1);
    const { state, action, gap, next } = model.rollout(states.select(1, 0), rows);
    for (const x of [state, next]) assert.deepEqual(x.shape, [5, 3, 2]);
    for (const x of [action, gap]) assert.deepEqual(x.shape, [5, 3, 1]);
    assert.deepEqual(await action.data(), await rows.data());
    assert.deepEqual(await state.slice(0, 1).data(), await next.slice(0, 0, 4).data());
    const predicted = model.predict({ states, actions, gaps: gap.transpose(0, 1) });
    const [found, wanted] = await Promise.all([predicted, next.transpose(0, 1)].map((x) => x.data()));
    found.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-5));
  });

  Deno.test(`${name}: a longer time gap changes the state more, and none does not change it`, async () => {
    const model = environmentModels[name](pendulum, { hidden: 8, key: key(0) });
    const { states, actions } = segments(2, 1);
    const after = async (gap: number) => {
      const gaps = zeros([2, 1, 1]).add(gap);
      return await model.predict({ states, actions, gaps }).sub(states.slice(1, 0, 1)).norm().item();
    };
    assert.equal(await after(0), 0);
    assert.ok(await after(0.1) > 1.5 * await after(0.05));
  });

  testLong(`${name}: gradients of the errors of states in float64`, async () => {
    const model = environmentModels[name](pendulum, { hidden: 4, key: key(0), dtype: "float64" });
    const real = segments(2, 3, "float64");
    // Without those of the network of time gaps, which is a perceptron with many weights.
    const { timer: _, ...others } = model.parameters;
    await checkGradients((_others) => model.errors(real).states, [others]);
  });

  Deno.test(`${name}: decisions after the end of an episode do not change the errors`, async () => {
    const model = environmentModels[name](pendulum, { hidden: 8, key: key(0) });
    const { states, actions, gaps } = segments(2, 4);
    const known = tensor([1, 1, 1, 0], { shape: [1, 4, 1] });
    const shifted = states.add(tensor([0, 0, 0, 0, 1], { shape: [1, 5, 1] }));
    const errors = await Promise.all([states, shifted].map(async (states) => {
      const found = model.errors({ states, actions, gaps: gaps.mul(known) });
      return [await found.states.item(), await found.gaps.item()];
    }));
    assert.deepEqual(errors[0], errors[1]);
    assert.notEqual(await model.errors({ states: shifted, actions, gaps }).states.item(), errors[0][0]);
  });
}

testLong("training lowers the errors of the fast weight model", async () => {
  const model = environmentModels["ode-rfwp"](pendulum, { hidden: 8, key: key(0) });
  const real = segments(16, 2);
  const optimizer = Adam(model.parameters, { learningRate: 0.01 });
  const losses: number[] = [];
  for (let i = 0; i < 30; i++) {
    const loss = tidy(() => {
      const [loss, gradients] = valueAndGrad(() => model.errors(real).gaps.add(model.errors(real).states))(
        model.parameters,
      );
      optimizer.step(gradients);
      return loss;
    });
    losses.push(await loss.item());
  }
  assert.ok(losses.at(-1)! < losses[0] * 0.9, `${losses[0]} ${losses.at(-1)}`);
});
