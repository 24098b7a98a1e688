import assert from "node:assert/strict";
import {
  checkGradients,
  grad,
  odeint,
  odeintSteps,
  type SolveOptions,
  type Tensor,
  tensor,
} from "../../mod.ts";

const float64 = { dtype: "float64" } as const;
const y0 = tensor([[0.5, 1.2]], float64);
const k = tensor([0.8], float64);

/** Gradients with respect to the start and a parameter of a solve's states. */
const gradients = (options: SolveOptions, t = [0, 0.4, 1]) => (y0: Tensor, k: Tensor) => {
  const field = (_t: Tensor, y: Tensor) => y.sin().sub(y.square().mul(k));
  const loss = (inputs: { y0: Tensor; k: Tensor }) => odeint(field, inputs.y0, t, options).pow(3).sum();
  return Object.values(grad(loss)({ y0, k }));
};

for (const method of ["reversible_heun", "reversible_rk4"]) {
  for (const compile of [true, false]) {
    for (const t of [[0, 1], [0, 0.4, 1]]) {
      const title = `the second gradient of ${method} whose steps are undone, at ${t.length} times`;
      Deno.test(`${title}${compile ? "" : ", step by step"}`, async () => {
        const solve = gradients({ method, adjoint: "reversible", stepSize: 0.1, compile }, t);
        await checkGradients(solve, [y0, k], { tolerance: 1e-6 });
      });
    }
  }
}

for (const method of ["kvaerno3", "kvaerno5"]) {
  Deno.test(`the second gradient of ${method} is that of its steps`, async () => {
    const t = [0, 0.4, 1];
    const field = (_t: Tensor, y: Tensor) => y.sin().sub(y.square().mul(k));
    const steps = await odeintSteps(field, y0, t, { method, rtol: 1e-3 });
    const solve = gradients({ steps, rtol: 1e-12, atol: 1e-14 }, t);
    await checkGradients(solve, [y0, k], { tolerance: 1e-6 });
  });
}

Deno.test("the continuous adjoint of an adaptive method refuses a gradient of its gradient", () => {
  const solve = gradients({ method: "dopri5", adjoint: "continuous" });
  solve(y0, k);
  for (const wrt of [y0, k]) {
    assert.throws(
      () => grad(() => solve(y0, k)[0].sum())(wrt),
      /a gradient of a gradient.*"continuous" of dopri5.*use the adjoint "direct", or a method of fixed steps/,
    );
  }
});

Deno.test("the continuous adjoint of an adaptive method serves where another gradient is asked for", () => {
  const solve = gradients({ method: "dopri5", adjoint: "continuous" });
  grad((x: Tensor) => x.mul(solve(y0, k)[0].sum()))(tensor(2, float64));
});
