import assert from "node:assert/strict";
import {
  type Adjoint,
  checkGradients,
  type DType,
  type MethodName,
  odeint,
  ones,
  scalar,
  type SolveStatistics,
  type Tensor,
  tensor,
  valueAndGrad,
} from "../../mod.ts";
import { embeddedStep } from "../../src/solvers/adaptive/embedded.ts";
import type { Parts } from "../../src/solvers/runge_kutta.ts";
import { adaptiveMethods } from "../../src/solvers/methods.ts";
import { peekHostValues } from "../../src/tensor/host.ts";
import { testLong, webgpu } from "../devices.ts";
import fixture from "../fixtures/odeint.json" with { type: "json" };
import { assertClose, type Golden } from "../golden.ts";
import { problem } from "./problems.ts";

const nothing = (): SolveStatistics => ({ steps: 0, rejected: 0, evaluations: 0 });

const names = new Map<string, MethodName>(adaptiveMethods.map(({ name }) => [name, name]));
for (
  const { problem: name, method: given, rtol, atol, function_evaluations: expected, y } of fixture.solutions
) {
  const method = names.get(given);
  if (!method) continue;
  for (const dtype of ["float64", "float32"] as DType[]) {
    const isFloat64 = dtype === "float64";
    // Below the precision of float32, rounding errors dominate. The long steps of dopri8 then differ, and the
    // states within them are interpolated less accurately than the tolerance.
    if (!isFloat64 && (rtol! < 1e-5 || method === "dopri8")) continue;
    Deno.test(`${method} with rtol ${rtol} solves ${name} as accurately as torchdiffeq, ${dtype}`, async () => {
      const { f, y0, t } = problem(name, dtype);
      const statistics = nothing();
      const states = odeint(f, y0, t, { method, rtol, atol, statistics });
      const { evaluations } = statistics;
      assert.ok(
        !isFloat64 || Math.abs(evaluations - expected!) <= 0.05 * expected!,
        `${evaluations} evaluations, expected ${expected}`,
      );
      await assertClose("states", states, y as Golden, 10 * rtol!);
    });
  }
}

for (const tableau of adaptiveMethods) {
  Deno.test(`${tableau.name} converges with its order`, async () => {
    const { order } = tableau;
    const dtype = "float64";
    // The leading terms of order 5 are so small that they only show over many steps, if a decaying state
    // keeps rounding errors smaller.
    const decays = order === 5;
    const f = (t: Tensor, [y]: Parts) => [decays ? y.mul(-2) : y.mul(t.cos())];
    const exact = Math.exp(decays ? -4 : Math.sin(2));
    const errors: number[] = [];
    const numbers = order > 5 ? [4, 6, 8] : [64, 128, 256];
    for (const steps of numbers) {
      const dt = 2 / steps;
      let y: Parts = [ones([1], { dtype })];
      let slope: Parts = f(scalar(0, dtype), y);
      for (let i = 0; i < steps; i++) {
        const step = embeddedStep(tableau, f, (c) => scalar((i + c) * dt, dtype), dt, y, slope);
        [y, slope] = [step.y, step.stages.at(-1)!];
      }
      errors.push(Math.abs(await y[0].item() - exact));
    }
    const slope = Math.log(errors[0] / errors[2]) / Math.log(numbers[2] / numbers[0]);
    assert.ok(Math.abs(slope - order) < 0.2, `slope ${slope}, order ${order}`);
  });
}

for (const adjoint of ["direct", "checkpoint", "continuous"] as Adjoint[]) {
  for (const compile of [true, false]) {
    const title = `the ${adjoint} gradient of dopri5 at several times${compile ? "" : ", step by step"}`;
    Deno.test(title, async () => {
      for (const t of [[0, 0.3, 1], [1, 0.4, 0]]) {
        // y(t) = y0 exp(k (t - t0)), as for fixed steps.
        const dtype = "float64";
        const inputs = { y0: tensor([[1], [2]], { dtype }), k: tensor([-0.7], { dtype }) };
        const options = { method: "dopri5", rtol: 1e-10, atol: 1e-11, adjoint, compile } as const;
        const loss = () => odeint((_t, y) => y.mul(inputs.k), inputs.y0, t, options).sum();
        const [, gradient] = valueAndGrad(loss)(inputs);
        const growth = t.map((time) => Math.exp(-0.7 * (time - t[0])));
        const [byK] = await gradient.k.data();
        const expected = t.reduce((sum, time, i) => sum + 3 * (time - t[0]) * growth[i], 0);
        assert.ok(Math.abs(byK - expected) < 1e-8, `${byK}, expected ${expected}`);
        const sum = growth.reduce((total, value) => total + value);
        (await gradient.y0.data()).forEach((value) => assert.ok(Math.abs(value - sum) < 1e-8));
      }
    });
  }
}

testLong("the direct gradient of an adaptive solve is the gradient of its steps", async () => {
  const { f, y0, t } = problem("vdp", "float64");
  const solve = (y: Tensor) => odeint(f, y, t, { method: "dopri5", rtol: 1e-9, atol: 1e-10 }).square().sum();
  await checkGradients(solve, [y0], { tolerance: 1e-5 });
});

// dy/dt is 1 before t = 1, and -2 afterwards.
const bend = (t: Tensor, y: Tensor) => y.zerosLike().add(t.lessEqual(1).where(t.zerosLike().add(1), -2));

for (const [from, to] of [[0, 3], [3, 0]]) {
  Deno.test(`a step ends at a jump of the vector field, from t = ${from} to ${to}`, async () => {
    const y0 = tensor([[0]], { dtype: "float64" });
    const [plain, withJump] = [nothing(), nothing()];
    const options = { method: "dopri5", rtol: 1e-8 } as const;
    odeint(bend, y0, [from, to], { ...options, statistics: plain });
    const y = odeint(bend, y0, [from, to], { ...options, jumpTimes: [1], statistics: withJump });
    assert.ok(Math.abs((await y.data())[1] - (from === 0 ? -3 : 3)) < 1e-12);
    assert.ok(
      withJump.steps + withJump.rejected < plain.steps + plain.rejected,
      `${withJump.steps}, ${plain.steps}`,
    );
    assert.equal(withJump.rejected, 0);
  });

  Deno.test(`the gradient of a solve with a jump is correct, from t = ${from} to ${to}`, async () => {
    const f = (t: Tensor, y: Tensor) => bend(t, y).mul(y);
    const options = { method: "dopri5", rtol: 1e-10, atol: 1e-12, jumpTimes: [1] } as const;
    const y0 = tensor([[1]], { dtype: "float64" });
    const expected = Math.exp(from === 0 ? -3 : 3);
    for (const adjoint of ["direct", "continuous"] as Adjoint[]) {
      const loss = (y: Tensor) => odeint(f, y, [from, to], { ...options, adjoint }).select(0, 1).sum();
      const [value, gradient] = valueAndGrad(loss)(y0);
      for (const x of [value, gradient]) assert.ok(Math.abs(await x.item() / expected - 1) < 1e-8, `${x}`);
    }
  });
}

Deno.test("statistics count steps, rejected steps and evaluations, also with fixed steps", () => {
  const { f, y0, t } = problem("linear", "float64");
  const statistics = nothing();
  odeint(f, y0, t, { method: "rk4", stepSize: 0.1, statistics });
  assert.deepEqual(statistics, { steps: 25, rejected: 0, evaluations: 100 });
  odeint(f, y0, t, { method: "bosh3", rtol: 1e-6, atol: 1e-8, statistics });
  const { steps, rejected, evaluations } = statistics;
  assert.equal(evaluations, 2 + 3 * (steps + rejected));
  assert.ok(rejected > 0);
});

const decay = (_t: Tensor, y: Tensor) => y.neg();
const solve = (options: object, y0 = ones([2, 3])) =>
  odeint(decay, y0, [0, 1], { method: "dopri5", ...options });
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  ["a tolerance of zero", () => solve({ rtol: 0 }), /rtol is 0, expected a positive, finite number/],
  ["a negative tolerance", () => solve({ atol: -1 }), /atol is -1, expected a positive, finite number/],
  [
    "an adjoint tolerance of zero",
    () => solve({ adjoint: "continuous", adjointAtol: 0 }),
    /adjointAtol is 0, expected/,
  ],
  ["a first step of zero", () => solve({ stepSize: 0 }), /stepSize is 0, expected a positive, finite number/],
  [
    "an infinite tolerance",
    () => solve({ rtol: Infinity }),
    /rtol is Infinity, expected a positive, finite number/,
  ],
  ["a tolerance of NaN", () => solve({ atol: NaN }), /atol is NaN, expected a positive, finite number/],
  ["no steps", () => solve({ maxSteps: 0 }), /maxSteps is 0, expected a whole number of at least 1/],
  [
    "a fractional number of steps",
    () => solve({ maxSteps: 1.5 }),
    /maxSteps is 1.5, expected a whole number/,
  ],
  ["infinitely many steps", () => solve({ maxSteps: Infinity }), /maxSteps is Infinity, expected a whole/],
  [
    "more steps than allowed",
    () => solve({ maxSteps: 3, rtol: 1e-8, stepSize: 0.01 }),
    /3 steps of dopri5 from t = 0 reached t = 0\.\d+, expected t = 1; \d steps were rejected, and the last step size was [\d.]+/,
  ],
  [
    "a state that becomes infinite",
    () => odeint((_t, y) => y.square(), ones([1]), [0, 2], { method: "dopri5", maxSteps: 300 }),
    /(cannot continue at t = (1|0\.99)|from t = 0 reached t = (1|0\.99))/,
  ],
  ["a state that is NaN", () => solve({}, tensor([NaN])), /cannot continue at t = 0/],
];
for (const [name, call, message] of wrong) {
  Deno.test(`an adaptive method rejects ${name}`, () => {
    assert.throws(call, message);
  });
}

if (webgpu) {
  Deno.test("on WebGPU an adaptive method throws an error that says to compute steps first", async () => {
    const y0 = await ones([2, 3]).to(webgpu!);
    assert.throws(
      () => solve({}, y0),
      /find the steps first.*findOdeintSteps.*solve on the CPU.*fixed-step method/,
    );
  });
}

Deno.test("the error of dopri8 at the end of steps is within the tolerance", async () => {
  const dtype = "float64";
  const turn = tensor([[0, -1], [1, 0]], { dtype });
  const options = { method: "dopri8", rtol: 1e-10, atol: 1e-10, jumpTimes: [10] } as const;
  const y = odeint((_t, y) => y.matmul(turn), tensor([[1, 0]], { dtype }), [0, 10], options).select(0, 1);
  const [cosine] = await y.data();
  assert.ok(Math.abs(cosine - Math.cos(10)) < 1e-9, `${cosine}, expected ${Math.cos(10)}`);
});

Deno.test("a duplicate jump time counts once", async () => {
  const run = (jumpTimes: number[]) =>
    odeint((_t, y) => y.neg(), ones([1]), [0, 1], { method: "dopri5", jumpTimes });
  assert.deepEqual(await run([0.5, 0.5]).data(), await run([0.5]).data());
});

Deno.test("a solve backwards evaluates the vector field at no time before its start", async () => {
  const times: number[] = [];
  const f = (t: Tensor, y: Tensor) => {
    times.push(peekHostValues(t)![0]);
    return y.neg();
  };
  const y = odeint(f, tensor([1], { dtype: "float64" }), [1, 0], { compile: false });
  assert.ok(Math.abs(await y.select(0, 1).item() - Math.E) < 1e-5);
  assert.ok(times.every((t) => t <= 1), `${times}`);
});
