import assert from "node:assert/strict";
import {
  type Adjoint,
  type DType,
  type MethodName,
  odeint,
  ones,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { adamsMethods, adaptiveMethods, fixedMethods, methodOf } from "../../src/solvers/methods.ts";
import { testOnDevices, webgpu } from "../devices.ts";
import fixture from "../fixtures/odeint.json" with { type: "json" };
import { assertAgree, assertClose } from "../golden.ts";
import { solved } from "../loops.ts";
import { problem } from "./problems.ts";

const methods = [...fixedMethods, ...adamsMethods];
const fixed = fixture.solutions.filter(({ method }) => methods.some(({ name }) => name === method));

// torchdiffeq's defaults, which affect implicit_adams.
/** Tolerances for the only fixed-step method that uses them. */
const tolerances = (method: MethodName, rtol = 1e-7, atol = 1e-9) =>
  method === "implicit_adams" ? { rtol, atol } : {};
/** The number of corrections depends on convergence, so this is not a loop of known length. */
const isCompiled = (method: MethodName, compile: boolean) => compile && method !== "implicit_adams";
for (const { problem: name, method: given, step_size: stepSize, y } of fixed) {
  const method = given as MethodName;
  const title = `${method} with steps of ${stepSize} agrees with torchdiffeq for ${name}`;
  // Eleven past slopes amplify rounding errors, and more steps amplify them more.
  const amplifies = method === "explicit_adams";
  const tolerance = amplifies && name === "sine" && stepSize === 0.03 ? 1e-8 : 1e-10;
  for (const compile of [true, false]) {
    Deno.test(`${title}, ${compile ? "compiled" : "step by step"}`, async () => {
      const { f, y0, t } = problem(name, "float64");
      const options = { ...tolerances(method), method, stepSize, compile } as const;
      const states = solved(isCompiled(method, compile), () => odeint(f, y0, t, options));
      await assertClose("states", states, y, tolerance);
    });
  }
  if (amplifies) continue;
  testOnDevices(`${title}, float32`, async (device) => {
    if (method === "implicit_adams" && device.info.kind !== "cpu") return;
    const { f, y0, t } = problem(name, "float32");
    const [compiled, plain] = [true, false].map((compile) =>
      solved(
        isCompiled(method, compile),
        () => odeint(f, y0, t, { ...tolerances(method), method, stepSize, compile }),
      )
    );
    await assertClose("states", compiled, y, 1e-4);
    await assertAgree("states, compiled and step by step", [compiled], [plain], 1e-5);
  });
}

const reversibleMethods = ["heun", ...fixedMethods.map(({ name }) => name)]
  .map((name) => methodOf(`reversible_${name}` as MethodName));
/** The order of a method, measured from its errors at different step sizes. */
async function measuredOrder(method: MethodName, sizes: readonly number[]): Promise<number> {
  const f = (t: Tensor, y: Tensor) => y.mul(t.cos());
  const y0 = ones([1, 1], { dtype: "float64" });
  const exact = Math.exp(Math.sin(2));
  const errors: number[] = [];
  for (const stepSize of sizes) {
    const [, end] = await odeint(f, y0, [0, 2], { method, stepSize, ...tolerances(method, 1e-13, 1e-14) })
      .data();
    errors.push(Math.abs(end - exact));
  }
  const slopes = errors.slice(1).map((error, i) => Math.log2(errors[i] / error));
  return slopes.reduce((sum, value) => sum + value) / slopes.length;
}

for (const { name, order } of [...methods, ...reversibleMethods]) {
  Deno.test(`${name} converges with its order`, async () => {
    const multistep = adamsMethods.some((method) => method.name === name);
    const slope = await measuredOrder(
      name as MethodName,
      multistep ? [0.0125, 0.00625, 0.003125] : [0.025, 0.0125, 0.00625],
    );
    assert.ok(Math.abs(slope - order) < 0.2, `slope ${slope}, order ${order}`);
  });
}

for (const { name, order } of adaptiveMethods) {
  // A reversible step consists of two steps, forward and backward. For odd orders their errors partly cancel.
  Deno.test(`the reversible form of ${name} converges at least with its order`, async () => {
    const slope = await measuredOrder(`reversible_${name}`, order > 5 ? [0.4, 0.2, 0.1] : [0.1, 0.05, 0.025]);
    assert.ok(slope > order - 0.2, `slope ${slope}, order ${order}`);
  });
}

for (const adjoint of ["direct", "checkpoint", "continuous"] as Adjoint[]) {
  testOnDevices(
    `the ${adjoint} gradient is correct at several output times, forwards and backwards in time`,
    async (device) => {
      const dtype: DType = device.info.kind === "cpu" ? "float64" : "float32";
      for (const t of [[0, 0.3, 1], [1, 0.4, 0]]) {
        // y(t) = y0 exp(k (t - t0)): the gradient of k is the sum of (t - t0) y(t), of y0 the sum of exp(k (t -
        // t0)).
        const inputs = { y0: tensor([[1], [2]], { dtype }), k: tensor([-0.7], { dtype }) };
        const loss = () =>
          odeint((_t, y) => y.mul(inputs.k), inputs.y0, t, { method: "rk4", stepSize: 0.01, adjoint }).sum();
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

for (const adjoint of ["direct", "continuous"] as Adjoint[]) {
  Deno.test(`steps of an even grid equal steps of a step size, with the ${adjoint} adjoint`, async () => {
    const y0 = tensor([[1], [2]], { dtype: "float64" });
    const grid = [3, 2.5, 0.5, 1, 1.5, 1.5, 2, 0, -1];
    const results = [{ method: "rk4", grid } as const, { method: "rk4", stepSize: 0.5 } as const].map((
      options,
    ) =>
      valueAndGrad((y: Tensor) =>
        odeint((t, y) => y.mul(t), y, [2, 1, 0], { ...options, adjoint }).square().sum()
      )(y0)
    );
    const [a, b] = await Promise.all(
      results.map(async (pair) => [await pair[0].data(), await pair[1].data()]),
    );
    assert.deepEqual(a, b);
  });
}

for (const method of ["explicit_adams", "implicit_adams"] as const) {
  for (const adjoint of ["direct", "continuous"] as Adjoint[]) {
    Deno.test(`the ${adjoint} gradient of ${method} is correct`, async () => {
      const k = tensor([-0.7], { dtype: "float64" });
      const start = ones([2, 1], { dtype: "float64" });
      const options = { method, adjoint, stepSize: 0.002, ...tolerances(method, 1e-10) } as const;
      const [, gradient] = valueAndGrad((k: Tensor) =>
        odeint((_t, y) => y.mul(k), start, [0, 1], options).select(0, 1).sum()
      )(k);
      const expected = 2 * Math.exp(-0.7);
      assert.ok(Math.abs(await gradient.item() - expected) < 1e-7, `${gradient}, expected ${expected}`);
    });
  }
}

if (webgpu) {
  Deno.test("implicit_adams throws an error that it requires the CPU [webgpu]", async () => {
    const y0 = await ones([2, 3]).to(webgpu!);
    assert.throws(
      () => odeint((_t, y) => y.neg(), y0, [0, 1], { method: "implicit_adams", stepSize: 0.1 }),
      /the state is on webgpu, whose values must be awaited.*: solve on the CPU.*fixed-step method, such as rk4/,
    );
  });
}

Deno.test("a duration that is a multiple of the step size up to rounding has no extra step", () => {
  const statistics = { steps: 0, rejected: 0, evaluations: 0 };
  odeint((_t, y) => y, ones([1, 1]), [0, 0.1 + 0.2], { method: "euler", stepSize: 0.1, statistics });
  assert.equal(statistics.steps, 3);
});

const y0 = () => zeros([2, 3]);
const identityField = (_t: Tensor, y: Tensor) => y;
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "an unknown method",
    // @ts-expect-error: names of methods are checked by type.
    () => odeint(identityField, y0(), [0, 1], { method: "rk5" }),
    /method "rk5" is unknown.*rk4/,
  ],
  [
    "a step of zero",
    () => odeint(identityField, y0(), [0, 1], { method: "rk4", stepSize: 0 }),
    /stepSize is 0, expected a positive, finite number/,
  ],
  ["a time that is NaN", () => odeint(identityField, y0(), [0, NaN]), /t\[1\] is NaN/],
  ["times in disorder", () => odeint(identityField, y0(), [0, 2, 1]), /t\[1\] = 2 and t\[2\] = 1/],
  [
    "a number in place of times",
    () => odeint(identityField, y0(), 1 as never),
    /t is 1, expected times: an array/,
  ],
  ["one time", () => odeint(identityField, y0(), [0]), /two times at least, got 1/],
  [
    "a vector field of the wrong shape",
    () => odeint((_t, y) => y.sum(0), y0(), [0, 1]),
    /returned \(3,\) for a state of \(2, 3\)/,
  ],
  [
    "a vector field of another dtype",
    () => odeint((_t, y) => y.cast("int32"), y0(), [0, 1]),
    /returned int32 for a state of float32/,
  ],
  [
    "an integer state",
    () => odeint(identityField, y0().cast("int32"), [0, 1]),
    /y0 is int32, expected float32 or float64/,
  ],
  [
    "a grid with a point that is NaN",
    () => odeint(identityField, y0(), [0, 1], { method: "rk4", grid: [0, NaN, 1] }),
    /grid\[1\] is NaN, expected a finite time/,
  ],
  [
    "a jump at infinity",
    () => odeint(identityField, y0(), [0, 1], { method: "dopri5", jumpTimes: [Infinity] }),
    /jumpTimes\[0\] is Infinity, expected a finite time/,
  ],
  [
    "a multistep method with uneven steps",
    () => odeint(identityField, y0(), [0, 1, 3, 4], { method: "explicit_adams" }),
    /steps of equal size, but step 0 has size 1 and step 1 has size 2: set stepSize/,
  ],
  [
    "an unknown adjoint",
    () => odeint(identityField, y0(), [0, 1], { adjoint: "backwards" as Adjoint }),
    /adjoint "backwards" is unknown.*continuous/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`odeint rejects ${name}`, () => {
    assert.throws(call, message);
  });
}
