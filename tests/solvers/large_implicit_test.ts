/** Implicit methods with states whose Jacobian is never formed. */
import assert from "node:assert/strict";
import {
  type Adjoint,
  checkGradients,
  concatenate,
  findOdeintSteps,
  grad,
  jacobian,
  jit,
  jvp,
  key,
  normal,
  odeint,
  odeintEvent,
  ones,
  type SolveOptions,
  type SolveStatistics,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { longOnSoftware, testOnBoth } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const statistics = (): SolveStatistics => ({ steps: 0, rejected: 0, evaluations: 0 });
const largest = async (a: Tensor, b: Tensor) => await a.sub(b).abs().max().item();

/** The second difference along the last axis, with the same value beyond both ends. */
function curvature(y: Tensor, boundary: number): Tensor {
  const padded = y.pad([...y.shape.slice(1).map(() => [0, 0] as const), [1, 1]], boundary);
  return padded.slice(-1, 2).add(padded.slice(-1, 0, -2)).sub(y.mul(2));
}

/** The heat equation on n points of the unit interval, zero at both ends. */
const heat = (n: number) => (_t: Tensor, y: Tensor) => curvature(y, 0).mul((n + 1) ** 2);

/** The lowest mode of the heat equation, and the rate of its decay. */
function lowestMode(n: number, dtype: "float32" | "float64" = "float64") {
  const values = Array.from({ length: n }, (_, i) => Math.sin(Math.PI * (i + 1) / (n + 1)));
  return { y0: tensor(values, { dtype }), rate: (2 * (n + 1) * Math.sin(Math.PI / (2 * (n + 1)))) ** 2 };
}

/** The Brusselator with diffusion (Hairer, Wanner, section IV.10), with n / 2 points of each of two species. */
const brusselator = (n: number, diffusion: Tensor | number = 0.02) => (_t: Tensor, y: Tensor) => {
  const points = n / 2;
  const [u, v] = [y.slice(-1, 0, points), y.slice(-1, points)];
  const product = u.square().mul(v);
  const spread = (x: Tensor, boundary: number) =>
    curvature(x, boundary).mul((points + 1) ** 2).mul(diffusion);
  return concatenate([
    product.add(1).sub(u.mul(4)).add(spread(u, 1)),
    u.mul(3).sub(product).add(spread(v, 3)),
  ], -1);
};

function brusselatorStart(n: number, amplitude = 1): Tensor {
  const points = n / 2;
  return tensor(
    Array.from(
      { length: n },
      (_, i) => i < points ? 1 + amplitude * Math.sin(2 * Math.PI * (i + 1) / (points + 1)) : 3,
    ),
    float64,
  );
}

for (const method of ["implicit_euler", "kvaerno3"] as const) {
  Deno.test(`${method} solves the heat equation on 128 points`, async () => {
    const { y0, rate } = lowestMode(128);
    const tolerance = method === "implicit_euler" ? 1e-4 : 1e-6;
    const y = odeint(heat(128), y0, [0, 0.1], { method, rtol: tolerance, atol: tolerance / 100 }).select(
      0,
      1,
    );
    const error = await largest(y, y0.mul(Math.exp(-rate * 0.1)));
    assert.ok(error < 30 * tolerance, `error ${error}`);
  });
}

Deno.test("kvaerno5 solves the heat equation on 1,000 points, where dopri5 needs ten times as many steps", async () => {
  const { y0, rate } = lowestMode(1000);
  const [implicit, explicit] = [statistics(), statistics()];
  const tolerances = { rtol: 1e-5, atol: 1e-8 };
  const y = odeint(heat(1000), y0, [0, 0.1], { method: "kvaerno5", ...tolerances, statistics: implicit })
    .select(0, 1);
  assert.ok(await largest(y, y0.mul(Math.exp(-rate * 0.1))) < 1e-5);
  // A hundredth of the interval.
  odeint(heat(1000), y0, [0, 0.001], { method: "dopri5", ...tolerances, statistics: explicit });
  assert.ok(
    explicit.steps > 10 * (implicit.steps + implicit.rejected),
    `${explicit.steps}, ${implicit.steps}`,
  );
});

Deno.test("kvaerno5 solves a reaction with diffusion on 1,000 points", async () => {
  const [f, y0] = [brusselator(1000), brusselatorStart(1000)];
  const reference = odeint(f, y0, [0, 0.05], { method: "dopri5", rtol: 1e-8, atol: 1e-10 });
  const y = odeint(f, y0, [0, 0.05], { method: "kvaerno5", rtol: 1e-6, atol: 1e-8 });
  assert.ok(await largest(y, reference) < 1e-5);
});

Deno.test("a reaction with diffusion on 128 points agrees with a strict explicit solve", async () => {
  const [f, y0, t] = [brusselator(128), brusselatorStart(128), [0, 0.5, 1]];
  const reference = odeint(f, y0, t, { method: "dopri5", rtol: 1e-8, atol: 1e-10 });
  const y = odeint(f, y0, t, { method: "kvaerno5", rtol: 1e-6, atol: 1e-8 });
  assert.ok(await largest(y, reference) < 1e-5);
});

Deno.test("a state of float32 is within the tolerance", async () => {
  const { y0, rate } = lowestMode(128, "float32");
  const y = odeint(heat(128), y0, [0, 0.1], { method: "kvaerno3", rtol: 1e-3, atol: 1e-4 }).select(0, 1);
  assert.ok(await largest(y, y0.mul(Math.exp(-rate * 0.1))) < 2e-3);
});

Deno.test("linear equations that one iteration solves exactly reject no step", async () => {
  const times = statistics();
  const f = (t: Tensor, y: Tensor) => y.sub(t.cos()).mul(-1000);
  const y = odeint(f, ones([2, 70], float64), [0, 1], { method: "kvaerno5", rtol: 1e-6, statistics: times });
  const [exact] = [(1e6 * Math.cos(1) + 1e3 * Math.sin(1)) / (1 + 1e6)];
  assert.ok(await y.select(0, 1).sub(exact).abs().max().item() < 1e-6);
  assert.ok(times.steps < 60 && times.rejected < 3, JSON.stringify(times));
});

Deno.test("an equation without damping has the solution of an explicit method", async () => {
  // A wave that moves along a ring. The eigenvalues of the Jacobian are imaginary.
  const along = (y: Tensor, shift: number) => concatenate([y.slice(0, shift), y.slice(0, 0, shift)]);
  const f = (_t: Tensor, y: Tensor) => along(y, -1).sub(along(y, 1)).mul(50);
  const y0 = tensor(Array.from({ length: 100 }, (_, i) => Math.exp(-((i - 50) ** 2) / 100)), float64);
  const solve = (method: "dopri5" | "kvaerno5") =>
    odeint(f, y0, [0, 0.3], { method, rtol: 1e-7, atol: 1e-9 });
  assert.ok(await largest(solve("kvaerno5"), solve("dopri5")) < 1e-5);
});

const n = 66;
const times = [0, 0.03];
const options = { method: "kvaerno3", rtol: 1e-4, atol: 1e-6 } as const;
const final = (y0: Tensor, diffusion: Tensor, more: Partial<SolveOptions> = {}) =>
  odeint(brusselator(n, diffusion), y0, times, { ...options, ...more }).select(0, 1);
const diffusion = tensor(0.02, float64);
const direction = normal(key(0), [n], float64);

Deno.test("gradients of large states are those of the steps, to the second order", async () => {
  const steps = await findOdeintSteps(brusselator(n), brusselatorStart(n), times, options);
  // Along one direction, which the differences can afford.
  const solve = (amount: Tensor, diffusion: Tensor) =>
    final(brusselatorStart(n).add(direction.mul(amount)), diffusion, { steps, rtol: 1e-11, atol: 1e-13 })
      .mul(direction).sum();
  await checkGradients(solve, [tensor(0.1, float64), diffusion], { tolerance: 1e-6 });
  const slope = grad((diffusion: Tensor) => solve(tensor(0.1, float64), diffusion));
  await checkGradients(slope, [diffusion], { tolerance: 1e-5 });
});

Deno.test("tangents, Jacobians and gradients of large states agree", async () => {
  const y0 = brusselatorStart(n);
  const steps = await findOdeintSteps(brusselator(n), y0, times, options);
  const solve = (y0: Tensor) => final(y0, diffusion, { steps, rtol: 1e-11, atol: 1e-13 });
  const matrix = jacobian(solve)(y0);
  const [, tangent] = jvp(solve)([y0], [direction]);
  assert.ok(await largest(tangent, matrix.matmul(direction.expandDims(1)).squeeze(1)) < 1e-8);
  const gradient = grad((y0: Tensor) => solve(y0).mul(direction).sum())(y0);
  assert.ok(await largest(gradient, direction.expandDims(0).matmul(matrix).squeeze(0)) < 1e-8);
  assert.ok(await largest(jacobian(solve, { mode: "forward" })(y0), matrix) < 1e-8);
  const product = (f: (v: Tensor) => Tensor) => jvp(grad(f))([y0], [direction])[1];
  const curved = product((y0) => solve(y0).square().sum());
  const differences = [1, -1].map((sign) =>
    grad((y0: Tensor) => solve(y0).square().sum())(y0.add(direction.mul(sign * 1e-5)))
  );
  assert.ok(await largest(curved, differences[0].sub(differences[1]).div(2e-5)) < 1e-4);
});

Deno.test("vmap of large states equals a loop", async () => {
  const starts = [0.5, 1.5].map((amplitude) => brusselatorStart(n, amplitude));
  const rates = tensor([0.02, 0.03], float64);
  const each = (f: (y0: Tensor, rate: Tensor) => Tensor) =>
    stack(starts.map((y0, i) => f(y0, rates.select(0, i))));
  const solve = (y0: Tensor, rate: Tensor) => final(y0, rate);
  const loss = (y0: Tensor, rate: Tensor) => solve(y0, rate).square().mean();
  const slope = (y0: Tensor, rate: Tensor) => grad((rate: Tensor) => loss(y0, rate))(rate);
  const tangent = (y0: Tensor, rate: Tensor) => jvp((y0: Tensor) => solve(y0, rate))([y0], [direction])[1];
  for (const f of [solve, slope, tangent]) {
    assert.ok(await largest(vmap(f)(stack(starts), rates), each(f)) < 1e-6, f.name);
  }
  const total = grad((rates: Tensor) => vmap(loss)(stack(starts), rates).sum())(rates);
  assert.ok(await largest(total, each(slope)) < 1e-6);
});

Deno.test("jit of large states equals eager solves, also with given steps", async () => {
  const y0 = brusselatorStart(n);
  const steps = await findOdeintSteps(brusselator(n), y0, times, options);
  for (const more of [{}, { steps }]) {
    const loss = (y0: Tensor) => final(y0, diffusion, more).square().sum();
    const compiled = jit((y0: Tensor) => grad(loss)(y0));
    for (const start of [y0, brusselatorStart(n, 0.9)]) {
      assert.ok(await largest(compiled(start), grad(loss)(start)) < 1e-8);
    }
  }
});

Deno.test("each adjoint of large states has the gradient, and samples may have separate steps", async () => {
  const y0 = stack([0.5, 1].map((amplitude) => brusselatorStart(n, amplitude)));
  // Diffusion is slow, because the continuous adjoint also solves for the states backwards in time.
  const gradient = (more: Partial<SolveOptions>) =>
    grad((y0: Tensor) =>
      final(y0, tensor(1e-4, float64), { ...more, rtol: 1e-6, atol: 1e-8 }).square().sum()
    )(y0);
  const expected = gradient({});
  for (const adjoint of ["checkpoint", "continuous"] as Adjoint[]) {
    assert.ok(await largest(gradient({ adjoint }), expected) < 1e-4, adjoint);
  }
  assert.ok(await largest(gradient({ norm: "sample" }), expected) < 1e-4);
});

Deno.test("an event ends a solve of a large state", async () => {
  const { y0, rate } = lowestMode(n);
  const { t } = odeintEvent(heat(n), y0, 0, (_t, y) => y.max().sub(0.5), {
    ...options,
    rtol: 1e-6,
    atol: 1e-8,
  });
  assert.ok(Math.abs(await t.item() - Math.log(2) / rate) < 1e-4);
});

Deno.test("the reversible adjoint of large states is rejected", () => {
  assert.throws(
    () => odeint(heat(n), ones([n]), [0, 1], { method: "kvaerno5", adjoint: "reversible" }),
    /the steps of kvaerno5 cannot be undone/,
  );
});

testOnBoth("steps of large states are found and taken on a GPU", longOnSoftware, async (cpu, webgpu) => {
  const results: Tensor[][] = [];
  const f = (_t: Tensor, y: Tensor) => curvature(y, 0).mul(20).sub(y.square());
  const tolerances = { rtol: 1e-2, atol: 1e-2 };
  for (const device of [cpu, webgpu]) {
    setCurrentDevice(device);
    const { y0 } = lowestMode(n, "float32");
    const steps = await findOdeintSteps(f, y0, [0, 0.05], { method: "implicit_euler", ...tolerances });
    const final = (y: Tensor) => odeint(f, y, [0, 0.05], { steps, ...tolerances }).select(0, 1);
    results.push([final(y0), grad((y: Tensor) => final(y).square().sum())(y0)]);
  }
  for (const [i, found] of results[1].entries()) {
    const expected = await results[0][i].data();
    (await found.data()).forEach((value, j) => assert.ok(Math.abs(value - expected[j]) < 1e-3));
  }
});
