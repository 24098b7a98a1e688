/** Custom tableaus, and options that a method does not use. */
import assert from "node:assert/strict";
import {
  type ButcherTableau,
  cdeint,
  type CdeSolveOptions,
  type EmbeddedTableau,
  findOdeintSteps,
  grad,
  integralController,
  key,
  LinearInterpolation,
  NeuralCDE,
  normal,
  odeint,
  ones,
  type SolveOptions,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { adaptiveMethods, fixedMethods, implicitMethods } from "../../src/solvers/methods.ts";
import { checkTableau } from "../../src/solvers/check_tableau.ts";

const float64 = { dtype: "float64" } as const;
/** y' = y cos(t), with the solution exp(sin(t)). */
const field = (t: Tensor, y: Tensor) => y.mul(t.cos());
const y0 = ones([1, 1], float64);

/** Shu and Osher's method of order 3. */
const ssp3: ButcherTableau = {
  kind: "explicit",
  name: "ssp3",
  order: 3,
  c: [0, 1, 1 / 2],
  a: [[1], [1 / 4, 1 / 4]],
  b: [1 / 6, 1 / 6, 2 / 3],
};

/** Fehlberg's pair of orders 4 and 5, without a stage at the end of the step. */
const fehlberg45: EmbeddedTableau = {
  kind: "embedded",
  name: "fehlberg45",
  order: 5,
  c: [0, 1 / 4, 3 / 8, 12 / 13, 1, 1 / 2],
  a: [
    [1 / 4],
    [3 / 32, 9 / 32],
    [1932 / 2197, -7200 / 2197, 7296 / 2197],
    [439 / 216, -8, 3680 / 513, -845 / 4104],
    [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40],
  ],
  b: [16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55],
  error: [1 / 360, 0, -128 / 4275, -2197 / 75240, 1 / 50, 2 / 55],
};

const error = async (t: number[], options: SolveOptions) => {
  const found = await odeint(field, y0, t, options).data();
  return Math.max(...t.map((time, i) => Math.abs(found[i] - Math.exp(Math.sin(time)))));
};

Deno.test("a custom tableau converges with its order", async () => {
  const [coarse, fine] = [
    await error([0, 2], { method: ssp3, stepSize: 0.1 }),
    await error([0, 2], {
      method: ssp3,
      stepSize: 0.05,
    }),
  ];
  const order = Math.log2(coarse / fine);
  assert.ok(Math.abs(order - 3) < 0.2, `order ${order}`);
});

for (const norm of ["batch", "sample"] as const) {
  Deno.test(`a custom embedded tableau keeps the tolerances (norm ${norm})`, async () => {
    for (const [rtol, bound] of [[1e-4, 1e-3], [1e-8, 1e-7]]) {
      for (const times of [[0, 2], [0, 0.3, 0.7, 1.1, 2]]) {
        const found = await error(times, { method: fehlberg45, rtol, atol: rtol, norm });
        assert.ok(found < bound, `${found} with rtol ${rtol}`);
      }
    }
  });
}

Deno.test("a copy of a tableau gives the same results as its name, gradients included", async () => {
  const run = (method: SolveOptions["method"], options: SolveOptions) =>
    grad((y: Tensor) => odeint(field, y, [0, 1, 2], { ...options, method }).square().sum())(y0).data();
  const dopri5: EmbeddedTableau = {
    ...adaptiveMethods.find(({ name }) => name === "dopri5")!,
    name: "custom",
  };
  const rk4: ButcherTableau = { ...fixedMethods.find(({ name }) => name === "rk4")!, name: "custom" };
  for (const adjoint of ["direct", "checkpoint", "continuous"] as const) {
    assert.deepEqual(
      await run(rk4, { adjoint, stepSize: 0.5 }),
      await run("rk4", { adjoint, stepSize: 0.5 }),
    );
    assert.deepEqual(await run(dopri5, { adjoint }), await run("dopri5", { adjoint }));
  }
});

Deno.test("precomputed steps of a custom embedded tableau can be used in a solve", async () => {
  const steps = await findOdeintSteps(field, y0, [0, 2], { method: fehlberg45 });
  const [found, expected] = [
    odeint(field, y0, [0, 2], { steps }),
    odeint(field, y0, [0, 2], { method: fehlberg45 }),
  ];
  const [a, b] = [await found.data(), await expected.data()];
  assert.ok(Math.abs(a[1] - b[1]) < 1e-6);
});

Deno.test("models and their streams accept a custom tableau", async () => {
  const sizes = { inputChannels: 2, hiddenChannels: 3, outputChannels: 1, width: 4, depth: 1, key: key(0) };
  const x = normal(key(1), [2, 4, 2]);
  const run = (method: SolveOptions["method"]) => {
    const model = NeuralCDE({ ...sizes, method });
    const stream = model.stream();
    return [model(LinearInterpolation(x)), ...[0, 1].map((t) => stream.push(t, x.select(1, t)))];
  };
  const rk4: ButcherTableau = { ...fixedMethods.find(({ name }) => name === "rk4")!, name: "custom" };
  const [custom, named] = [run(rk4), run("rk4")];
  for (const [i, prediction] of custom.entries()) {
    assert.deepEqual(await prediction.data(), await named[i].data());
  }
});

Deno.test("every tableau of the library passes the check for custom tableaus", () => {
  for (const method of [...fixedMethods, ...adaptiveMethods]) checkTableau(method);
});

/** Orders of the states in the middle of a step; 1 for other methods. */
const middleOrders: Readonly<Record<string, number>> = {
  ...{ dopri5: 4, dopri8: 5, tsit5: 4 },
  ...{ kvaerno3: 3, kvaerno5: 4 },
};

Deno.test("the weights of every method integrate polynomials of its order exactly", () => {
  for (const { name, order, c, b, ...others } of [...fixedMethods, ...adaptiveMethods, ...implicitMethods]) {
    const check = (weights: readonly number[], end: number, order: number) => {
      for (let power = 0; power < order; power++) {
        const sum = weights.reduce((sum, weight, i) => sum + weight * c[i] ** power, 0);
        const error = Math.abs(sum - end ** (power + 1) / (power + 1));
        assert.ok(error < 1e-13, `${name}: the integral of t^${power} to ${end} has the error ${error}`);
      }
    };
    check(b, 1, order);
    if ("middle" in others) check(others.middle, 0.5, middleOrders[name] ?? 1);
  }
});

const broken: [name: string, tableau: ButcherTableau | EmbeddedTableau, message: RegExp][] = [
  [
    "an unknown kind",
    { ...ssp3, kind: "rk" } as unknown as ButcherTableau,
    /has kind "rk", expected "explicit" or/,
  ],
  ["no name", { ...ssp3, name: "" }, /the tableau "" needs a name/],
  ["an order of zero", { ...ssp3, order: 0 }, /"ssp3" has order 0, expected a whole number from 1/],
  ["a missing row", { ...ssp3, a: [[1]] }, /has 3 weights b, 3 times c and 1 rows a/],
  ["a first stage after the start", { ...ssp3, c: [0.5, 1, 0.5] }, /has c\[0\] = 0.5, expected 0/],
  ["a row of a wrong length", { ...ssp3, a: [[1], [1 / 2]] }, /has 1 weights in a\[1\], expected 2/],
  [
    "a row with a sum other than its time",
    { ...ssp3, a: [[1], [0.25, 0.5]] },
    /weights a\[1\] that add up to 0.75, expected 0.5/,
  ],
  [
    "weights with a sum other than 1",
    { ...ssp3, b: [0.5, 0.5, 0.5] },
    /weights b that add up to 1.5, expected 1/,
  ],
  [
    "weights that are not numbers",
    { ...ssp3, b: [NaN, 0.5, 0.5] },
    /weights b that add up to NaN, expected 1/,
  ],
  [
    "an error of constants",
    { ...fehlberg45, error: [1, 0, 0, 0, 0, 0] },
    /weights error that add up to 1, expected 0/,
  ],
  [
    "a middle elsewhere",
    { ...fehlberg45, middle: [1, 0, 0, 0, 0, 0] },
    /weights middle that add up to 1, expected 0.5/,
  ],
];
for (const [name, method, message] of broken) {
  Deno.test(`a tableau with ${name} is rejected`, () => {
    assert.throws(() => odeint(field, y0, [0, 1], { method }), message);
  });
}

const unused: [options: SolveOptions, message: RegExp][] = [
  [
    { method: "rk4", rtol: 1e-3 },
    /odeint: rk4 does not use the option rtol; adaptive methods, such as dopri5, and implicit_adams use it/,
  ],
  [{ method: "explicit_adams", atol: 1e-3 }, /explicit_adams does not use the option atol/],
  [{ method: "rk4", norm: "sample" }, /rk4 does not use the option norm/],
  [{ method: "rk4", maxSteps: 5 }, /does not use the option maxSteps/],
  [{ method: "rk4", controller: integralController() }, /does not use the option controller/],
  [{ method: "rk4", jumpTimes: [1] }, /does not use the option jumpTimes/],
  [{ method: "rk4", adjointRtol: 1e-3, adjoint: "continuous" }, /rk4 does not use the option adjointRtol/],
  [
    { method: "dopri5", adjointAtol: 1e-3 },
    /dopri5 does not use the option adjointAtol; the continuous adjoint/,
  ],
  [
    { method: "rk4", coupling: 0.9 },
    /rk4 does not use the option coupling; reversible methods, such as reversible_rk4, use it/,
  ],
  [{ method: "dopri5", grid: [1] }, /dopri5 does not use the option grid; fixed-step methods/],
  [{ method: "dopri5", check: true }, /dopri5 does not use the option check/],
  [{ method: "implicit_adams", executor: "stepped" }, /implicit_adams does not use the option executor/],
  [{ method: "rk4", grid: [1], stepSize: 0.1 }, /grid and stepSize both determine the steps/],
];
for (const [options, message] of unused) {
  Deno.test(`an option without effect is rejected: ${JSON.stringify(options)}`, () => {
    assert.throws(() => odeint(field, y0, [0, 2], options), message);
  });
}

Deno.test("stepsPerPiece is rejected if it has no effect", () => {
  const X = LinearInterpolation(tensor([[[0], [1]]], float64));
  const solve = (options: CdeSolveOptions) => cdeint(X, (_t, z) => z.expandDims(-1), y0, [0, 1], options);
  assert.throws(
    () => solve({ method: "dopri5", stepsPerPiece: 2 }),
    /dopri5 does not use the option stepsPerPiece/,
  );
  assert.throws(
    () => solve({ stepSize: 0.5, stepsPerPiece: 2 }),
    /stepsPerPiece and stepSize both determine the steps/,
  );
});
