/** Step size controllers. */
import assert from "node:assert/strict";
import {
  concatenate,
  type ErrorNorm,
  findOdeintSteps,
  odeint,
  type SolveStatistics,
  type StepController,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { integralController, stepFactor } from "../../src/solvers/adaptive/step_control.ts";

const start = tensor([[2, 0]], { dtype: "float64" });
const vanDerPol = (_t: Tensor, y: Tensor) => {
  const [x, v] = [y.slice(1, 0, 1), y.slice(1, 1, 2)];
  return concatenate([v, x.square().neg().add(1).mul(v).mul(20).sub(x)], 1);
};
const interval = [0, 40];
const PI = { pcoeff: 0.4, icoeff: 0.3 };

for (const norm of ["batch", "sample"] as ErrorNorm[]) {
  Deno.test(`the coefficients 0, 1, 0 give the steps of the default controller, norm ${norm}`, async () => {
    const options = { method: "dopri5", rtol: 1e-4, norm } as const;
    const integral = { pcoeff: 0, icoeff: 1, dcoeff: 0 };
    const [plain, given, other] = await Promise.all([undefined, integral, PI].map(async (controller) => {
      const { found } = await findOdeintSteps(vanDerPol, start, [0, 10], { ...options, controller });
      return found.lists[0];
    }));
    assert.deepEqual(given, plain);
    assert.notDeepEqual(other.starts, plain.starts);
  });
}

for (const method of ["bosh3", "dopri5", "tsit5", "dopri8"] as const) {
  Deno.test(`with ${method} a PI controller attempts and rejects fewer steps of a stiff equation`, async () => {
    const solve = async (controller?: StepController) => {
      const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
      const options = {
        method,
        rtol: 1e-4,
        atol: 1e-6,
        norm: "sample" as const,
        controller,
        statistics,
      } as const;
      const y = await odeint(vanDerPol, start, interval, options).data();
      return { ...statistics, tried: statistics.steps + statistics.rejected, y };
    };
    const [plain, proportional] = [await solve(), await solve(PI)];
    assert.ok(proportional.rejected < 0.5 * plain.rejected, `${proportional.rejected}, ${plain.rejected}`);
    assert.ok(proportional.tried < plain.tried, `${proportional.tried}, ${plain.tried}`);
    assert.ok(Math.abs(proportional.y[2] - plain.y[2]) < 0.01, `${proportional.y}, ${plain.y}`);
  });
}

const factor = async (ratio: number, controller: StepController, [previous, earlier] = [1, 1]) => {
  const [r, a, b] = [ratio, previous, earlier].map((x) => tensor(x, { dtype: "float64" }));
  return await stepFactor(r, [a, b], 5, { ...integralController, ...controller }).item();
};

Deno.test("the next step size follows Soderlind's formula of three errors", async () => {
  const [p, i, d] = [0.4, 0.3, 0.1];
  const found = await factor(0.02, { pcoeff: p, icoeff: i, dcoeff: d }, [0.05, 0.3]);
  const expected = 0.9 * 0.02 ** (-(p + i + d) / 5) * 0.05 ** ((p + 2 * d) / 5) * 0.3 ** (-d / 5);
  assert.ok(expected > 1 && Math.abs(found / expected - 1) < 1e-12, `${found}, expected ${expected}`);
});

Deno.test("the step size changes within bounds", async () => {
  const bounds = { safety: 0.8, factormin: 0.3, factormax: 4 };
  assert.equal(await factor(0, bounds), 4);
  assert.equal(await factor(1e30, bounds), 0.3);
  assert.equal(await factor(Infinity, bounds), 0.3);
  assert.equal(await factor(NaN, bounds), 0.3);
  assert.equal(await factor(0.99, bounds), 1);
  assert.ok(Math.abs(await factor(2, bounds) - 0.8 * 2 ** -0.2) < 1e-12);
});

const wrong: [controller: StepController, message: RegExp][] = [
  [{ pcoeff: NaN }, /controller\.pcoeff is NaN, expected a number/],
  [{ safety: 0 }, /controller\.safety is 0, expected more than 0/],
  [{ factormin: 1 }, /factormin is 1 and factormax 10, expected 0 < factormin < 1 < factormax/],
  [{ factormax: 1 }, /factormin is 0.2 and factormax 1, expected/],
];
for (const [controller, message] of wrong) {
  Deno.test(`a controller with ${JSON.stringify(controller)} is rejected`, () => {
    assert.throws(() => odeint(vanDerPol, start, interval, { method: "dopri5", controller }), message);
  });
}
