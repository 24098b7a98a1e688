import assert from "node:assert/strict";
import {
  type LatentModelOptions,
  latentModels,
  type Windows,
} from "../../../../tasks/papers/control/mujoco/latent_model.ts";
import { SamplingPlanner } from "../../../../tasks/papers/control/mujoco/sampling_planner.ts";
import { swimmer } from "../../../../tasks/papers/control/mujoco/swimmer.ts";
import {
  Adam,
  checkGradients,
  concatenate,
  jit,
  type Key,
  key,
  normal,
  type Tensor,
  tensor,
  tidy,
  treeLeaves,
  uniform,
  valueAndGrad,
  zeros,
} from "../../../../mod.ts";
import { cpu, testLong, useDevice } from "../../../devices.ts";

useDevice(cpu);

const sizes: LatentModelOptions = {
  ...{ values: 3, actions: 2, hidden: 8, method: "rk4", decodes: "change", heads: 2, feedForward: 8 },
  ...{ rule: "delta", key: key(0) },
};
const names = ["latent-ode", "latent-ode-rfwp"] as const;

/** Windows of four decisions. The second one has three. */
function windows(dtype: "float32" | "float64" = "float32"): Windows {
  return {
    states: normal(key(1), [2, 5, 3], { dtype }),
    actions: uniform(key(2), [2, 4, 2], { low: -1, high: 1, dtype }),
    gaps: tensor([1, 3, 7, 2, 4, 4, 1, 0], { shape: [2, 4, 1], dtype }),
  };
}

for (const name of names) {
  Deno.test(`${name}: places after the end of an episode do not change the loss`, async () => {
    const model = latentModels[name](sizes);
    const real = windows();
    const ends = tensor([0, 0, 0, 0, 1], { shape: [5, 1] }).mul(tensor([0, 1], { shape: [2, 1, 1] }));
    const losses = async (states: Tensor, actions = real.actions) => {
      const { states: error, gaps, divergence } = model.errors({ ...real, states, actions }, key(3));
      return await Promise.all([error, gaps, divergence].map((x) => x.item()));
    };
    const found = await losses(real.states);
    assert.deepEqual(await losses(real.states.add(ends), real.actions.add(ends.slice(1, 1))), found);
    assert.notEqual((await losses(real.states.add(ends.flip(0))))[0], found[0]);
  });

  Deno.test(`${name}: the divergence of the first latent state from the prior is positive, and the gaps are 1 to 7`, async () => {
    const model = latentModels[name](sizes);
    const { states, actions } = windows();
    const { gaps, divergence } = model.errors(windows(), key(3));
    assert.ok(await divergence.item() > 0);
    assert.ok(Math.abs(await gaps.item() - Math.log(7)) < 0.5);
    const input = concatenate([states.select(1, 0), actions.select(1, 0)], -1);
    for (const gap of await model.gapAfter(model.start(2, key(4)), input).data()) {
      assert.ok(Number.isInteger(gap) && gap >= 1 && gap <= 7, `${gap}`);
    }
  });

  testLong(`${name}: gradients of the loss in float64`, async () => {
    const model = latentModels[name]({ ...sizes, hidden: 4, feedForward: 4, dtype: "float64" });
    const real = windows("float64");
    const { timer: _, distribution: __, ...others } = model.parameters;
    const loss = () => {
      const { states, gaps, divergence } = model.errors(real, key(3));
      return states.add(gaps).add(divergence);
    };
    await checkGradients((_others) => loss(), [others]);
  });

  testLong(`${name}: training lowers the error of states and of time gaps`, async () => {
    const model = latentModels[name](sizes);
    const optimizer = Adam(model.parameters, { learningRate: 0.01 });
    const losses: number[][] = [];
    for (let i = 0; i < 60; i++) {
      const { states, gaps } = tidy(() => {
        const errors = model.errors(windows(), key(i));
        optimizer.step(
          valueAndGrad(() => {
            const { states, gaps, divergence } = model.errors(windows(), key(i));
            return states.add(gaps).add(divergence);
          })(model.parameters)[1],
        );
        return errors;
      });
      losses.push([await states.item(), await gaps.item()]);
    }
    losses[0].forEach((first, i) =>
      assert.ok(losses.at(-1)![i] < first / 2, `${losses[0]} ${losses.at(-1)}`)
    );
  });
}

Deno.test("the observation or its change is decoded", async () => {
  const state = tensor([[5, 6, 7]]);
  const decoded = (decodes: LatentModelOptions["decodes"]) => {
    const model = latentModels["latent-ode"]({ ...sizes, decodes });
    return model.decode(model.start(1, key(4)), state);
  };
  const [change, observation] = [decoded("change"), decoded("observation")];
  const difference = await change.sub(observation).sub(state).abs().max().item();
  assert.ok(difference < 1e-5);
});

Deno.test("the planner moves the actor's action toward rewards that the model predicts", async () => {
  /** A point at x that moves by the first action in every time step. */
  const model = {
    next: (latent: Tensor, input: Tensor, gap: Tensor) => latent.add(input.slice(-1, 10, 11).mul(gap)),
    decode: (latent: Tensor, state: Tensor) => concatenate([state.slice(-1, 0, 9), latent], -1),
    gapAfter: (latent: Tensor) => latent.zerosLike().add(4),
  };
  const still = (state: Tensor) => state.slice(-1, 0, 2).zerosLike();
  const plan = SamplingPlanner({
    ...{
      problem: swimmer,
      policyInput: (x: Tensor) => x,
      normalizer: { restore: (x: Tensor) => x },
      horizon: 3,
      candidates: 200,
      discount: 0.99,
    },
    model: model as unknown as Parameters<typeof SamplingPlanner>[0]["model"],
    agent: { act: still, value: (state) => state.slice(-1, 0, 1).zerosLike() },
  });
  const choose = jit((key: Key) => plan(zeros([1, 10]), zeros([1, 1]), key));
  const [forward] = await choose(key(0)).data();
  // The mean of the best twentieth of normal values is 2.06 standard deviations for one decision, less for a sum of three.
  assert.ok(forward > 0.06 && forward < 0.25, `${forward}`);
  assert.ok(treeLeaves(choose(key(1))).every((x) => x.shape.join() === "1,2"));
});
