import assert from "node:assert/strict";
import {
  type Adjoint,
  cdeint,
  checkGradients,
  CubicSpline,
  findOdeintSteps,
  grad,
  key,
  type MethodName,
  naturalCubicCoeffs,
  normal,
  odeint,
  odeintEvent,
  ones,
  scan,
  type SolveOptions,
  type SolveStatistics,
  stack,
  type Tensor,
  tensor,
  uniform,
  zeros,
} from "../../mod.ts";
import { embeddedStep } from "../../src/solvers/adaptive/embedded.ts";
import { interpolateAt, supportOf } from "../../src/solvers/adaptive/interpolation.ts";
import type { Parts } from "../../src/solvers/runge_kutta.ts";
import { basisOf, invert } from "../../src/solvers/implicit/linear_systems.ts";
import { implicitMethods } from "../../src/solvers/methods.ts";
import { iterations, jacobians } from "../../src/solvers/implicit/newton.ts";
import { longOnSoftware, testLong, testOnBoth } from "../devices.ts";
import { setCurrentDevice } from "../../src/device/current.ts";

const float64 = { dtype: "float64" } as const;

/** Van der Pol's oscillator, stiff for a large mu: `(2,)`. */
const vanDerPol = (mu: Tensor | number) => (_t: Tensor, y: Tensor) => {
  const [position, speed] = [y.select(0, 0), y.select(0, 1)];
  return stack([speed, position.square().neg().add(1).mul(speed).mul(mu).sub(position)]);
};

/** Robertson's chemical reaction. */
const robertson = (_t: Tensor, y: Tensor) => {
  const [a, b, c] = [0, 1, 2].map((i) => y.select(0, i));
  const [first, second, third] = [a.mul(0.04), b.mul(c).mul(1e4), b.square().mul(3e7)];
  return stack([second.sub(first), first.sub(second).sub(third), third]);
};

/** A rotation in each sample whose angular speed depends on the radius. */
const spin = (t: Tensor, y: Tensor) => {
  const turned = y.matmul(tensor([[0, 1], [-1, 0]], { dtype: y.dtype }));
  return turned.mul(y.square().sum(1, { keepDims: true })).sub(y.mul(t.cos()));
};

for (const tableau of implicitMethods) {
  const { name: method, order } = tableau;
  Deno.test(`${method} converges with its order`, async () => {
    // y' = y cos t, and a second equation that depends on it.
    const f = (t: Tensor, [y]: Parts) => {
      const [first, second] = [y.select(0, 0), y.select(0, 1)];
      return [stack([first.mul(t.cos()), first.mul(second).neg()])];
    };
    const errors: number[] = [];
    for (const steps of [16, 32, 64]) {
      const dt = tensor(2 / steps, float64);
      const first = ones([2], float64);
      const initial = { y: first, slope: f(tensor(0, float64), [first])[0] };
      const starts = tensor(Array.from({ length: steps }, (_, i) => i * 2 / steps), float64);
      const [{ y }] = scan(
        ({ y, slope }: typeof initial, t: Tensor) => {
          const step = embeddedStep(tableau, f, (c) => t.add(dt.mul(c)), dt, [y], [slope]);
          return [{ y: step.y[0], slope: step.stages.at(-1)![0] }, {}];
        },
        initial,
        starts,
      );
      errors.push(Math.abs((await y.data())[0] - Math.exp(Math.sin(2))));
    }
    const slope = Math.log2(errors[0] / errors[2]) / 2;
    assert.ok(Math.abs(slope - order) < 0.2, `slope ${slope}, order ${order}`);
  });

  Deno.test(`interpolated states of ${method} have the order of the method or order 4`, async () => {
    const f = (t: Tensor, [y]: Parts) => [y.mul(t.cos())];
    const errors: number[] = [];
    for (const dt of [0.2, 0.1]) {
      const y: Parts = [ones([1], float64)];
      const at = (c: number) => tensor(c * dt, float64);
      const step = embeddedStep(tableau, f, at, dt, y, f(at(0), y));
      const [support] = supportOf(tableau, step, y, dt);
      const state = interpolateAt(support, tensor(0.3, float64));
      errors.push(Math.abs(await state.item() - Math.exp(Math.sin(0.3 * dt))));
    }
    const slope = Math.log2(errors[0] / errors[1]);
    // The error of a single step has one order more.
    assert.ok(slope > Math.min(order, 4) + 1 - 0.3, `slope ${slope}: ${errors}`);
  });

  if (order > 1) {
    testLong(`${method} solves van der Pol's equation with mu = 1000`, async () => {
      // The solution from the Test Set for IVP Solvers (Mazzia, Magherini), problem VDPOL, where time is in
      // units of mu.
      const expected = [1.706167732170483, -0.8928097010247975e-3];
      const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
      const rtol = order === 3 ? 1e-4 : 1e-5;
      const options = { method, rtol, atol: rtol / 100, statistics } as const;
      const [, end] = (await odeint(vanDerPol(1000), tensor([2, 0], float64), [0, 2000], options)
        .toArray()) as number[][];
      end.forEach((value, i) =>
        assert.ok(Math.abs(value / expected[i] - 1) < 10 * rtol, `${value}, ${expected[i]}`)
      );
      // An explicit method needs a million.
      assert.ok(statistics.steps + statistics.rejected < 3000, `${statistics.steps} steps`);
    });
  }

  Deno.test(`the error of ${method} is within the tolerance at every output time of a stiff equation`, async () => {
    // y' = -l (y - cos t) converges to y = (l^2 cos t + l sin t) / (1 + l^2).
    const l = 1e5;
    const exact = (t: number) => (l * l * Math.cos(t) + l * Math.sin(t)) / (1 + l * l);
    const field = (t: Tensor, y: Tensor) => y.sub(t.cos()).mul(-l);
    const t = [0, 0.5, 1];
    const found = await odeint(field, zeros([1], float64), t, { method, rtol: 1e-4, atol: 1e-6 }).data();
    for (const i of [1, 2]) assert.ok(Math.abs(found[i] - exact(t[i])) < 1e-4, `${found[i]}, ${exact(t[i])}`);
  });

  testLong(`the gradient of ${method} is the gradient of its steps`, async () => {
    const inputs: [Tensor, Tensor] = [tensor([2, 0.1], float64), tensor([20], float64)];
    const field = (mu: Tensor) => vanDerPol(mu.select(0, 0));
    const t = [0, 0.4, 1];
    const steps = await findOdeintSteps(field(inputs[1]), inputs[0], t, { method, rtol: 1e-3 });
    const solve = (y0: Tensor, mu: Tensor) => odeint(field(mu), y0, t, { steps, rtol: 1e-12, atol: 1e-14 });
    await checkGradients(solve, inputs, { tolerance: 1e-7 });
  });

  Deno.test(`the error of ${method} in float32 is within the tolerance`, async () => {
    const y0 = normal(key(0), [4, 2]);
    const expected = odeint(spin, y0.cast("float64"), [0, 1], { method: "dopri5", rtol: 1e-10, atol: 1e-12 });
    const found = odeint(spin, y0, [0, 1], { method, rtol: 1e-4, atol: 1e-5 });
    assert.ok(await found.cast("float64").sub(expected).abs().max().item() < (order === 1 ? 0.03 : 1e-3));
  });
}

testLong("kvaerno5 solves Robertson's reaction over eleven orders of magnitude of time", async () => {
  // From the same test set, problem ROBER.
  const expected = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050];
  const options = { method: "kvaerno5", rtol: 1e-7, atol: 1e-17 } as const;
  const y = odeint(robertson, tensor([1, 0, 0], float64), [0, 1e11], options).select(0, 1);
  (await y.data()).forEach((value, i) =>
    assert.ok(Math.abs(value / expected[i] - 1) < 1e-4, `${value}, expected ${expected[i]}`)
  );
});

testLong("every sample has a separate Jacobian, also for states with several axes", async () => {
  const y0 = normal(key(1), [5, 2], float64);
  const strict = { rtol: 1e-10, atol: 1e-12 };
  const expected = odeint(spin, y0, [0, 0.5, 1], { method: "dopri5", ...strict });
  const found = odeint(spin, y0, [0, 0.5, 1], { method: "kvaerno5", ...strict });
  assert.ok(await found.sub(expected).abs().max().item() < 1e-7);
  const folded = odeint(
    (t, y) => spin(t, y.reshape([5, 2])).reshape([5, 1, 2]),
    y0.reshape([5, 1, 2]),
    [0, 1],
    { method: "kvaerno5", ...strict },
  );
  assert.ok(await folded.select(0, 1).reshape([5, 2]).sub(found.select(0, 2)).abs().max().item() < 1e-9);

  const matrices = await jacobians((y) => spin(tensor(0, float64), y), y0, basisOf(2, "float64")).data();
  const [x, y] = await y0.select(0, 3).data();
  // At t = 0: -y (x^2 + y^2) - x and x (x^2 + y^2) - y.
  const byHand = [-2 * x * y - 1, -x * x - 3 * y * y, 3 * x * x + y * y, 2 * x * y - 1];
  byHand.forEach((value, i) => assert.ok(Math.abs(matrices[3 * 4 + i] - value) < 1e-12));
});

testLong("an implicit method solves along a path and backwards in time", async () => {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [3, 6, 2], float64).cumsum(1)));
  const w = normal(key(1), [4, 8], float64);
  const field = (_t: Tensor, z: Tensor) => z.matmul(w).tanh().reshape([3, 4, 2]);
  for (const t of [[0, 2.5, 5], [5, 1, 0]]) {
    const solve = (method: MethodName) =>
      cdeint(X, field, ones([3, 4], float64), t, { method, rtol: 1e-8, atol: 1e-9 });
    assert.ok(await solve("kvaerno5").sub(solve("dopri5")).abs().max().item() < 1e-5);
  }
});

Deno.test("odeintEvent finds the event of a stiff equation", async () => {
  const options = { rtol: 1e-7, atol: 1e-9, method: "kvaerno5" } as const;
  const y0 = tensor([2, 0], float64);
  const { t, y } = odeintEvent(vanDerPol(100), y0, 0, (_t, y) => y.select(0, 0).sub(1.5), options);
  const [, there] = (await odeint(vanDerPol(100), y0, [0, await t.item()], options).toArray()) as number[][];
  assert.ok(Math.abs((await y.data())[0] - 1.5) < 1e-6 && Math.abs(there[0] - 1.5) < 1e-5, `${there}`);
});

Deno.test("an event of a stiff equation is found in the state at the end of a step", async () => {
  // y' = -1e5 (y - cos t) follows y = cos t.
  const field = (t: Tensor, y: Tensor) => y.sub(t.cos()).mul(-1e5);
  const options = { rtol: 1e-6, atol: 1e-8, method: "kvaerno5" } as const;
  const { t, y } = odeintEvent(field, ones([1], float64), 0, (_t, y) => y.select(0, 0).sub(0.7), options);
  // The solution lags by 1e-5.
  assert.ok(Math.abs(await t.item() - Math.acos(0.7)) < 2e-5, `${t}`);
  assert.ok(Math.abs(await y.item() - 0.7) < 1e-8, `${y}`);
});

Deno.test("statistics count the evaluations of all iterations", () => {
  const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
  for (const compile of [true, false]) {
    odeint(vanDerPol(50), tensor([2, 0], float64), [0, 0.05], {
      method: "kvaerno3",
      rtol: 1e-4,
      statistics,
      compile,
    });
    const { steps, rejected, evaluations } = statistics;
    // Two evaluations estimate the first step size.
    assert.equal(evaluations, 2 + (steps + rejected) * (1 + 3 * iterations));
  }
});

Deno.test("the continuous adjoint of an implicit method has the gradient of its equation", async () => {
  const y0 = normal(key(2), [2, 2], float64);
  const gradients = (adjoint: Adjoint) =>
    grad(({ y0, mu }: { y0: Tensor; mu: Tensor }) =>
      odeint((t, y) => spin(t, y).sub(y.mul(mu)), y0, [0, 0.2], {
        method: "kvaerno3",
        rtol: 1e-5,
        atol: 1e-5,
        adjoint,
      }).square().sum()
    )({ y0, mu: tensor([3], float64) });
  const [found, expected] = [gradients("continuous"), gradients("direct")];
  assert.ok(await found.y0.sub(expected.y0).abs().max().item() < 1e-4);
  assert.ok(await found.mu.sub(expected.mu).abs().max().item() < 1e-4);
});

Deno.test("batches of matrices are inverted with pivoting", async () => {
  for (const n of [1, 2, 5, 9]) {
    const basis = basisOf(n, "float64");
    const matrices = uniform(key(n), [7, n, n], float64).sub(0.5);
    const product = matrices.matmul(invert(matrices, basis));
    assert.ok(await product.sub(basis.identity).abs().max().item() < 1e-9);
  }
  // Zeros on the diagonal, and columns with two largest elements.
  const others = tensor([[0, 1, 0], [2, 0, 0], [0, 0, -4], [1, -1, 0], [1, 1, 0], [0, 0, 1]], float64);
  const found = invert(others.reshape([2, 3, 3]), basisOf(3, "float64"));
  assert.deepEqual([...await found.data()], [
    0,
    0.5,
    0,
    1,
    0,
    0,
    0,
    0,
    -0.25,
    0.5,
    0.5,
    0,
    -0.5,
    0.5,
    0,
    0,
    0,
    1,
  ]);
  const singular = invert(tensor([[[1, 2], [2, 4]]], float64), basisOf(2, "float64"));
  assert.ok((await singular.data()).some((value) => !Number.isFinite(value)));
});

const solve = (options: SolveOptions, y0 = ones([2, 3])) =>
  odeint((_t, y) => y.neg(), y0, [0, 1], { method: "kvaerno5", ...options });
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "the reversible adjoint",
    () => solve({ adjoint: "reversible" }),
    /the steps of kvaerno5 cannot be undone/,
  ],
  [
    "samples that depend on each other",
    () => odeint((_t, y) => y.sub(y.mean(0)), ones([4, 2]), [0, 1], { method: "kvaerno5" }),
    /the samples along the first axis .* depend on each other.*y\.flatten\(\)/,
  ],
  ["a tolerance of zero", () => solve({ rtol: 0 }), /rtol is 0, expected a positive, finite number/],
  ["a state that is NaN", () => solve({}, tensor([[NaN], [1]])), /cannot continue at t = 0/],
];
for (const [name, call, message] of wrong) {
  Deno.test(`an implicit method rejects ${name}`, () => {
    assert.throws(call, message);
  });
}

testOnBoth(
  "steps of an implicit method are found and taken on a GPU",
  longOnSoftware,
  async (cpu, webgpu) => {
    const results: Tensor[][] = [];
    for (const device of [cpu, webgpu]) {
      setCurrentDevice(device);
      const y0 = normal(key(0), [4, 2]);
      const steps = await findOdeintSteps(spin, y0, [0, 1], {
        method: "implicit_euler",
        rtol: 1e-3,
        atol: 1e-3,
      });
      const final = (y: Tensor) => odeint(spin, y, [0, 1], { steps, rtol: 1e-3, atol: 1e-3 }).select(0, 1);
      results.push([final(y0), grad((y: Tensor) => final(y).square().sum())(y0)]);
    }
    for (const [i, found] of results[1].entries()) {
      const expected = await results[0][i].data();
      (await found.data()).forEach((value, j) => assert.ok(Math.abs(value - expected[j]) < 1e-3));
    }
    assert.throws(() => solve({}), /findOdeintSteps/);
  },
);
