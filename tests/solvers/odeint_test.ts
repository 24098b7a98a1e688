import assert from "node:assert/strict";
import {
  type Adjoint,
  type DType,
  odeint,
  ones,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { fixedMethods } from "../../src/solvers/methods.ts";
import { testOnDevices } from "../devices.ts";
import fixture from "../fixtures/odeint.json" with { type: "json" };
import { assertClose } from "../golden.ts";
import { problem } from "./problems.ts";

const fixed = fixture.solutions.filter(({ method }) => fixedMethods.some(({ name }) => name === method));

for (const { problem: name, method, step_size: stepSize, y } of fixed) {
  const title = `torchdiffeq's ${name} by ${method} in steps of ${stepSize}`;
  for (const compile of [true, false]) {
    Deno.test(`${title}, ${compile ? "compiled" : "step by step"}`, async () => {
      const { f, y0, t } = problem(name, "float64");
      await assertClose("states", odeint(f, y0, t, { method, stepSize, compile }), y, 1e-10);
    });
  }
  testOnDevices(`${title}, float32`, async () => {
    const { f, y0, t } = problem(name, "float32");
    await assertClose("states", odeint(f, y0, t, { method, stepSize }), y, 1e-4);
  });
}

for (const { name, order } of fixedMethods) {
  Deno.test(`${name} converges with its order`, async () => {
    const f = (t: Tensor, y: Tensor) => y.mul(t.cos());
    const y0 = ones([1, 1], { dtype: "float64" });
    const exact = Math.exp(Math.sin(2));
    const errors: number[] = [];
    const sizes = [0.025, 0.0125, 0.00625];
    for (const stepSize of sizes) {
      const [, end] = await odeint(f, y0, [0, 2], { method: name, stepSize }).data();
      errors.push(Math.abs(end - exact));
    }
    const slopes = errors.slice(1).map((error, i) => Math.log2(errors[i] / error));
    const slope = slopes.reduce((sum, value) => sum + value) / slopes.length;
    assert.ok(Math.abs(slope - order) < 0.2, `slope ${slope}, order ${order}`);
  });
}

for (const adjoint of ["direct", "checkpoint", "continuous"] as Adjoint[]) {
  testOnDevices(
    `the ${adjoint} gradient at several output times, forwards and backwards in time`,
    async (device) => {
      const dtype: DType = device.info.kind === "cpu" ? "float64" : "float32";
      for (const t of [[0, 0.3, 1], [1, 0.4, 0]]) {
        // y(t) = y0 exp(k (t - t0)): the gradient of k is the sum of (t - t0) y(t), of y0 that of exp(k (t - t0)).
        const inputs = { y0: tensor([[1], [2]], { dtype }), k: tensor([-0.7], { dtype }) };
        const loss = () =>
          odeint((_t, y) => y.mul(inputs.k), inputs.y0, t, { stepSize: 0.01, adjoint }).sum();
        const [, gradient] = valueAndGrad(loss)(inputs);
        const growth = t.map((time) => Math.exp(-0.7 * (time - t[0])));
        const [byK] = await gradient.k.data();
        const expected = t.reduce((sum, time, i) => sum + 3 * (time - t[0]) * growth[i], 0);
        assert.ok(Math.abs(byK - expected) < 1e-5, `${byK}, expected ${expected}`);
        const sum = growth.reduce((total, value) => total + value);
        (await gradient.y0.data()).forEach((value) => assert.ok(Math.abs(value - sum) < 1e-5));
      }
    },
  );
}

const y0 = () => zeros([2, 3]);
const still = (_t: Tensor, y: Tensor) => y;
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  ["an unknown method", () => odeint(still, y0(), [0, 1], { method: "rk5" }), /method "rk5" is unknown.*rk4/],
  [
    "a step of zero",
    () => odeint(still, y0(), [0, 1], { stepSize: 0 }),
    /stepSize is 0, expected a positive number/,
  ],
  ["a time that is NaN", () => odeint(still, y0(), [0, NaN]), /t\[1\] is NaN/],
  ["times in disorder", () => odeint(still, y0(), [0, 2, 1]), /t\[1\] = 2 and t\[2\] = 1/],
  ["one time", () => odeint(still, y0(), [0]), /two times at least, got 1/],
  [
    "a field of another shape",
    () => odeint((_t, y) => y.sum(0), y0(), [0, 1]),
    /returned \(3,\) for a state of \(2, 3\)/,
  ],
  [
    "an unknown adjoint",
    () => odeint(still, y0(), [0, 1], { adjoint: "backwards" as Adjoint }),
    /adjoint "backwards" is unknown.*continuous/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`odeint refuses ${name}`, () => {
    assert.throws(call, message);
  });
}
