import assert from "node:assert/strict";
import { curveFigure, type CurveRun, curveTable } from "../../bench/learning_curves.ts";

/** A run with a return for each epoch, of two minutes each. */
const runOf = (model: string, returns: readonly number[], experiment = "swimmer"): CurveRun => ({
  config: { experiment, model, seed: 0, epochs: 3, decisions: 5000 },
  epochs: returns.map((value, i) => ({
    ...{ epoch: i + 1, step: i + 1, seconds: 120 * (i + 1), validation: {} },
    train: { loss: 1, return: value },
  })),
});

Deno.test("a learning curve has a row for each epoch, with an empty cell where a run has not trained", () => {
  const table = curveTable([runOf("latent-ode-rfwp", [1.04, 2]), runOf("latent-ode", [3])], "01234567");
  const command =
    '"deno task train swimmer --device cpu --epochs 3 --seed 0 # --model latent-ode-rfwp and --model latent-ode"';
  assert.deepEqual(table.trimEnd().split("\n"), [
    "decisions,latent-ode-rfwp,latent-ode,minutes of latent-ode-rfwp,minutes of latent-ode,command,commit",
    `"15,000",1.0,3.0,2,2,${command},01234567`,
    `"20,000",2.0,,4,,${command},01234567`,
  ]);
});

Deno.test("the figure of learning curves has a line for each run", () => {
  const figure = curveFigure([runOf("latent-ode-rfwp", [1, 2]), runOf("latent-ode", [3, 4])]);
  for (const name of ["latent-ode-rfwp", "latent-ode"]) assert.match(figure, new RegExp(`>${name}<`));
});

Deno.test("learning curves of different problems are rejected", () => {
  assert.throws(
    () => curveTable([runOf("latent-ode", [1]), runOf("latent-ode", [1], "hopper")], "01234567"),
    /runs of swimmer with 5000 decisions and of hopper with 5000; expected the same problem/,
  );
});
