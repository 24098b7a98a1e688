/** Checks with the physics engine, which mujoco_test.ts runs in a process without the lock file. */
import assert from "node:assert/strict";
import { init, key, type Tensor } from "../../../../mod.ts";
import { hopper } from "../../../../tasks/papers/control/mujoco/hopper.ts";
import { Simulation } from "../../../../tasks/papers/control/mujoco/physics.ts";
import { swimmer } from "../../../../tasks/papers/control/mujoco/swimmer.ts";
import { hopperControl, swimmerControl } from "../../../../tasks/papers/experiments/mujoco.ts";
import { evaluate } from "../../../../src/train/evaluate.ts";
import { settingsOf } from "../../../../src/train/experiment.ts";
import { train } from "../../../../src/train/loop.ts";
import { loadBest } from "../../../../src/train/run/run.ts";
import { runFolder } from "../../../../src/train/run/run_folder.ts";
import { withFolder } from "../../../tasks/command_line.ts";

await init({ device: "cpu" });

/** Positions and velocities of Python's MuJoCo 3.14.0 after five actions of four time steps. */
const golden = {
  swimmer: [
    ...[0.000883701705975579, 0.0626804028681569, -0.08126601730596553, 0.05960101568280192],
    ...[0.14294303349163173, -0.048713185510963423, -0.36765888655198964, 0.21491723927785109],
    ...[-1.1054007953061873, 2.2732981681258457],
  ],
  hopper: [
    ...[-0.0003764805335962421, 1.2425071253457642, -0.0017456682808197539, -0.001980120351046892],
    ...[0.001077351293125557, -0.017118380217160348, -0.06010094658308367, -0.36097815226611324],
    ...[-0.5157893755814091, -0.5559695082346082, 0.006822185104832765, -1.4117364450899124],
  ],
};

for (const [name, problem] of Object.entries({ swimmer, hopper })) {
  Deno.test(`the ${name} moves as in Python's MuJoCo`, async () => {
    const simulation = await Simulation(problem.xml);
    const none = {
      positions: Array(problem.positions).fill(0),
      velocities: Array(problem.velocities).fill(0),
    };
    simulation.reset(none);
    for (let i = 0; i < 5; i++) {
      simulation.advance([0.5 - 0.2 * i, 0.3, -0.1 * i].slice(0, problem.actions), 4);
    }
    const { positions, velocities } = simulation.state();
    const found = [...positions, ...velocities];
    assert.equal(found.length, golden[name as keyof typeof golden].length);
    golden[name as keyof typeof golden].forEach((wanted, i) =>
      assert.ok(Math.abs(found[i] - wanted) < 1e-9, `${found}`)
    );
    assert.throws(() => simulation.reset({ ...none, positions: [0] }), /1 offsets of positions, expected/);
    assert.throws(() => simulation.advance([0], 1), /1 controls, expected/);
    assert.throws(() => simulation.advance(Array(problem.actions).fill(0), 0), /0 time steps, expected/);
  });
}

Deno.test("a model that MuJoCo cannot read is rejected with its message", async () => {
  await assert.rejects(
    Simulation("<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>"),
    /^Error: Simulation: MuJoCo rejects the model: Error: size 0 must be positive in geom Element name '', id 0, line 1$/,
  );
});

const tiny = {
  ...{ hidden: 4, heads: 2, feedForward: 4, windows: 32, planLength: 3, candidates: 8, decisions: 24 },
  ...{ epochs: 2, seed: 0 },
};
const options = { batchSize: 16, key: key(0) };

for (const policyReads of ["observation", "latent"]) {
  Deno.test(
    `a resumed run of the hopper has the measures of an uninterrupted one, bit for bit, if the actor reads the ${policyReads}`,
    withFolder(async (path) => {
      const prepare = () =>
        hopperControl.prepare(
          settingsOf(hopperControl, { ...tiny, epochs, policyReads, model: "latent-ode-rfwp" }),
        );
      // The actor and the critic learn from the second epoch on.
      const epochs = 3;
      const [whole, resumed] = ["whole", "resumed"].map((name) => runFolder(`${path}/${name}`));
      for (const { path } of [whole, resumed]) await Deno.mkdir(path);
      const { metrics: wanted } = await train(await prepare(), { ...options, epochs, folder: whole });
      await train(await prepare(), { ...options, epochs: 2, folder: resumed });
      const { metrics } = await train(await prepare(), { ...options, epochs, folder: resumed, resume: true });
      assert.deepEqual(metrics.map(({ train }) => train), wanted.map(({ train }) => train));
    }),
  );
}

Deno.test(
  "the test of a run's weights repeats the return of the last epoch",
  withFolder(async (path) => {
    const settings = settingsOf(swimmerControl, {
      ...{ hidden: 4, windows: 32, planLength: 3, candidates: 8, decisions: 24, epochs: 2, seed: 0 },
      model: "latent-ode",
    });
    const folder = runFolder(path);
    const { metrics } = await train(await swimmerControl.prepare(settings), {
      ...options,
      epochs: 2,
      folder,
    });
    const task = await swimmerControl.prepare(settings);
    await loadBest(folder, task);
    const measured = await evaluate(task, task.data.test, 32);
    assert.ok(Math.abs(measured.return - metrics.at(-1)!.train.return) < 1e-4);
    assert.ok(Math.abs(metrics.at(-1)!.train.return) > 1e-3);
    const { baselines } = await task.evaluatePredictions!();
    assert.ok(Number.isFinite(baselines["random actions"].return));
  }),
);

Deno.test("an actor that reads the latent state has its features as inputs, and learns from them", async () => {
  const settings = settingsOf(hopperControl, { ...tiny, policyReads: "latent", model: "latent-ode-rfwp" });
  const task = await hopperControl.prepare(settings);
  const { actor } = task.parameters as unknown as { actor: { layers: { weight: Tensor }[] } };
  const { weight } = actor.layers[0];
  assert.deepEqual(weight.shape, [64, 12 + 4]);
  const before = await weight.data();
  for (const epoch of [1, 2]) await task.collect!(epoch);
  const after = await weight.data();
  const ofLatent = after.filter((value, i) => i % 16 >= 12 && value !== before[i]);
  assert.ok(ofLatent.length > 64, `${ofLatent.length}`);
});

Deno.test("--recipe paper has the settings of appendix C.3", () => {
  const { epochs, decisions, candidates, rule, method, decodes, planLength } = settingsOf(hopperControl, {
    recipe: "paper",
  });
  assert.deepEqual([epochs, decisions, candidates, planLength], [81, 5000, 1000, 10]);
  assert.deepEqual([rule, method, decodes], ["hebb", "dopri5", "observation"]);
  const baseline = settingsOf(hopperControl, { recipe: "paper", model: "latent-ode" });
  assert.deepEqual([baseline.hidden, baseline.candidates], [128, 1000]);
});
