/** The defaults of solvers, which equal torchdiffeq's and torchcde's, and of models. */
import assert from "node:assert/strict";
import {
  cdeint,
  type CdeSolveOptions,
  CubicSpline,
  findCdeintSteps,
  findOdeintSteps,
  grad,
  key,
  LinearInterpolation,
  MLP,
  naturalCubicCoeffs,
  NeuralODE,
  normal,
  odeint,
  odeintEvent,
  type SolveOptions,
  stack,
  type Tensor,
  tensor,
} from "../../mod.ts";

const oscillator = (_t: Tensor, y: Tensor) => stack([y.select(0, 1), y.select(0, 0).neg()]);
const bits = async (x: Tensor) => [...await x.data()];

for (const [dtype, allowed] of [["float32", 2e-6], ["float64", 5e-7]] as const) {
  Deno.test(`odeint solves an oscillator to torchdiffeq's default tolerances, ${dtype}`, async () => {
    const y0 = tensor([1, 0], { dtype });
    const t = [0, 0.5, 4, 10];
    const y = (await odeint(oscillator, y0, t).toArray()) as number[][];
    t.forEach((time, i) => {
      assert.ok(Math.abs(y[i][0] - Math.cos(time)) < allowed, `${time}: ${y[i][0]}`);
      assert.ok(Math.abs(y[i][1] + Math.sin(time)) < allowed, `${time}: ${y[i][1]}`);
    });
  });

  Deno.test(`a float32 solve over 100 units of time takes few more steps than a float64 solve, ${dtype}`, () => {
    const statistics = { steps: 0, rejected: 0, evaluations: 0 };
    odeint(oscillator, tensor([1, 0], { dtype }), [0, 100], { statistics });
    assert.ok(statistics.steps > 600 && statistics.steps < 800, `${statistics.steps} steps`);
  });

  Deno.test(`the default of odeint is dopri5 with rtol 1e-7 and atol 1e-9, bit for bit, ${dtype}`, async () => {
    const y0 = tensor([1, 0], { dtype });
    const t = [0, 0.3, 2, 3];
    const named = { method: "dopri5", rtol: 1e-7, atol: 1e-9 } as const;
    const solve = (options?: SolveOptions) => odeint(oscillator, y0, t, options);
    assert.deepEqual(await bits(solve()), await bits(solve(named)));
    assert.notDeepEqual(await bits(solve()), await bits(solve({ ...named, rtol: 1e-6 })));
    assert.notDeepEqual(await bits(solve()), await bits(solve({ ...named, atol: 1e-6 })));
    // Tolerances also apply to other methods, as in torchdiffeq.
    const bosh3 = { method: "bosh3", rtol: 1e-7, atol: 1e-9 } as const;
    assert.deepEqual(await bits(solve({ method: "bosh3" })), await bits(solve(bosh3)));
    const gradient = (options?: SolveOptions) =>
      grad((y: Tensor) => odeint(oscillator, y, t, options).square().sum())(y0);
    assert.deepEqual(await bits(gradient()), await bits(gradient(named)));
    const continuous = { adjoint: "continuous" } as const;
    assert.deepEqual(await bits(gradient(continuous)), await bits(gradient({ ...named, ...continuous })));
    const found = await findOdeintSteps(oscillator, y0, t);
    assert.deepEqual(found, await findOdeintSteps(oscillator, y0, t, named));
    assert.deepEqual(await bits(solve({ steps: found })), await bits(solve(named)));
    const event = (options?: SolveOptions) =>
      odeintEvent(oscillator, y0, 0, (_t, y) => y.select(0, 0).sub(0.5), options);
    assert.deepEqual(await bits(event().t), await bits(event(named).t));
  });

  Deno.test(`the default of cdeint is dopri5 with rtol 1e-4 and atol 1e-6, bit for bit, ${dtype}`, async () => {
    const x = normal(key(0), [2, 6, 3], { dtype }).cumsum(1);
    const w = normal(key(1), [4, 12], { dtype });
    const f = (_t: Tensor, z: Tensor) => z.matmul(w).tanh().reshape([2, 4, 3]);
    const z0 = normal(key(2), [2, 4], { dtype });
    const named = { method: "dopri5", rtol: 1e-4, atol: 1e-6 } as const;
    for (const X of [CubicSpline(naturalCubicCoeffs(x)), LinearInterpolation(x)]) {
      const solve = (options?: CdeSolveOptions) => cdeint(X, f, z0, X.times, options);
      assert.deepEqual(await bits(solve()), await bits(solve(named)));
      assert.notDeepEqual(await bits(solve()), await bits(solve({ ...named, rtol: 1e-5 })));
      const found = await findCdeintSteps(X, f, z0, X.times);
      assert.deepEqual(found, await findCdeintSteps(X, f, z0, X.times, named));
    }
  });
}

Deno.test("the default method of a model is rk4 with one step between output times", async () => {
  const sizes = { features: 2, width: 8, depth: 1, key: key(3) };
  const [y0, t] = [tensor([[1, 0]]), [0, 1, 2]];
  const model = NeuralODE(sizes);
  const solve = (options: SolveOptions) => NeuralODE({ ...sizes, ...options })(y0, t);
  assert.deepEqual(await bits(model(y0, t)), await bits(solve({ method: "rk4" })));
  const tolerances = { rtol: 1e-4, atol: 1e-6 };
  assert.deepEqual(
    await bits(solve({ method: "dopri5" })),
    await bits(solve({ method: "dopri5", ...tolerances })),
  );
  const field = MLP({ inputs: 2, outputs: 2, width: 8, depth: 1, activation: "tanh", key: key(3) });
  const y = odeint((_t, y) => field(y), y0, t, { method: "rk4" });
  assert.deepEqual(await bits(model(y0, t)), await bits(y.transpose(0, 1)));
});

const solve = (options: SolveOptions) => odeint(oscillator, tensor([1, 0]), [0, 1], options);
const X = LinearInterpolation(tensor([[[0], [1], [3]]]));
const follow = (options: CdeSolveOptions) =>
  cdeint(X, (_t, z) => z.expandDims(-1), tensor([[1]]), [0, 2], options);
const rejected: [title: string, call: () => unknown, message: RegExp][] = [
  [
    "stepSize without a method",
    () => solve({ stepSize: 0.1 }),
    /odeint: stepSize is given without a method, and dopri5, the default method, .* choose method "rk4"/,
  ],
  [
    "stepSize without a method along a control",
    () => follow({ stepSize: 0.1 }),
    /stepSize is given without a method/,
  ],
  [
    "a grid without a method",
    () => solve({ grid: [0.5] }),
    /dopri5, the default method, does not use the option grid; fixed-step methods, such as rk4, use it; choose a method/,
  ],
  [
    "a check without a method",
    () => solve({ check: true }),
    /the default method, does not use the option check/,
  ],
  [
    "steps of each piece without a method",
    () => follow({ stepsPerPiece: 1 }),
    /cdeint: dopri5, the default method, does not use the option stepsPerPiece.*choose a method/,
  ],
  [
    "the reversible adjoint without a method",
    () => solve({ adjoint: "reversible" }),
    /the steps of dopri5, the default method, cannot be undone.*use the method "reversible_rk4", or the adjoint "direct"/,
  ],
];
for (const [title, call, message] of rejected) {
  Deno.test(`a solve rejects ${title}`, () => {
    assert.throws(call, message);
  });
}
