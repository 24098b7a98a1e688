import assert from "node:assert/strict";
import {
  checkGradients,
  findOdeintSteps,
  grad,
  odeint,
  odeintEvent,
  type SolveOptions,
  stack,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const y0 = tensor([[0.5, 1.2]], float64);
const k = tensor([0.8], float64);

/** Gradients with respect to the start and a parameter of a solve's states. */
const gradients = (options: SolveOptions, t = [0, 0.4, 1]) => (y0: Tensor, k: Tensor) => {
  const field = (_t: Tensor, y: Tensor) => y.sin().sub(y.square().mul(k));
  const loss = (inputs: { y0: Tensor; k: Tensor }) => odeint(field, inputs.y0, t, options).pow(3).sum();
  return Object.values(grad(loss)({ y0, k }));
};

for (const method of ["reversible_heun", "reversible_rk4"] as const) {
  for (const compile of [true, false]) {
    for (const t of [[0, 1], [0, 0.4, 1]]) {
      const title = `the reversible second gradient of ${method} is correct at ${t.length} times`;
      Deno.test(`${title}${compile ? "" : ", step by step"}`, async () => {
        const solve = gradients({ method, adjoint: "reversible", stepSize: 0.1, compile }, t);
        await checkGradients(solve, [y0, k], { tolerance: 1e-6 });
      });
    }
  }
}

for (const method of ["kvaerno3", "kvaerno5"] as const) {
  Deno.test(`the second gradient of ${method} is the second gradient of its steps`, async () => {
    const t = [0, 0.4, 1];
    const field = (_t: Tensor, y: Tensor) => y.sin().sub(y.square().mul(k));
    const steps = await findOdeintSteps(field, y0, t, { method, rtol: 1e-3 });
    const solve = gradients({ steps, rtol: 1e-12, atol: 1e-14 }, t);
    await checkGradients(solve, [y0, k], { tolerance: 1e-6 });
  });
}

Deno.test("the continuous adjoint of an adaptive method rejects second gradients", () => {
  const solve = gradients({ method: "dopri5", adjoint: "continuous" });
  solve(y0, k);
  for (const wrt of [y0, k]) {
    assert.throws(
      () => grad(() => solve(y0, k)[0].sum())(wrt),
      /a second gradient.*"continuous" of dopri5.*use the adjoint "direct", or a fixed-step method/,
    );
  }
});

Deno.test("the continuous adjoint of an adaptive method works inside other gradients", async () => {
  const tolerances = { rtol: 1e-9, atol: 1e-11, method: "dopri5" } as const;
  const solve = gradients({ ...tolerances, adjoint: "continuous" });
  const direct = gradients({ ...tolerances, adjoint: "direct" })(y0, k);
  for (const [i, name] of ["start", "parameter"].entries()) {
    // The slope of x^2 g at 3 is 6 g.
    const slope = grad((x: Tensor) => x.square().mul(solve(y0, k)[i].sum()))(tensor(3, float64));
    const [found, expected] = [await slope.item(), 6 * await direct[i].sum().item()];
    assert.ok(Math.abs(found / expected - 1) < 1e-6, `${name}: ${found}, expected ${expected}`);
  }
});

/**
 * Gradients of an event of a ball that falls through air, with respect to its start and to the height of the
 * event.
 */
const ofEvent = (pick: (t: Tensor, y: Tensor) => Tensor) => (y0: Tensor, level: Tensor) => {
  const fall = (t: Tensor, y: Tensor) =>
    stack([y.select(0, 1), y.select(0, 1).mul(-0.3).sub(y.select(0, 0).sin()).sub(t.cos().add(9.81))]);
  const loss = (inputs: { y0: Tensor; level: Tensor }) => {
    const event = (t: Tensor, y: Tensor) => y.select(0, 0).sub(inputs.level.select(0, 0).mul(t.cos()));
    const { t, y } = odeintEvent(fall, inputs.y0, 2, event, { rtol: 1e-11, atol: 1e-12 });
    return pick(t, y);
  };
  return Object.values(grad(loss)({ y0, level }));
};

for (
  const [name, pick] of [
    ["time", (t: Tensor) => t.square()],
    ["state", (_t: Tensor, y: Tensor) => y.square().sum()],
  ] as const
) {
  testLong(`the second gradient of an event's ${name} is correct`, async () => {
    const inputs: [Tensor, Tensor] = [tensor([10, 3], float64), tensor([0.5], float64)];
    await checkGradients(ofEvent(pick), inputs, { tolerance: 1e-5, step: 1e-4 });
  });
}

Deno.test("gradients of an event up to order 4 match the closed form of a falling ball, higher orders throw", async () => {
  const fall = (_t: Tensor, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().sub(2)]);
  // The ball falls h in a time of sqrt(h).
  let f = (h: Tensor) =>
    odeintEvent(fall, stack([h, h.zerosLike()]), 0, (_t, y) => y.select(0, 0), { rtol: 1e-11, atol: 1e-12 })
      .t;
  // Each gradient of h^p is p / h times the previous one, with the power lowered by one.
  let expected = 1.5;
  for (let order = 0; order <= 4; order++) {
    const found = await f(tensor(2.25, float64)).item();
    assert.ok(Math.abs(found - expected) < 1e-6, `order ${order}: ${found}, expected ${expected}`);
    f = grad(f);
    expected *= (0.5 - order) / 2.25;
  }
  assert.throws(() => f(tensor(2.25, float64)), /gradients of order 5.*up to order 4; nest fewer/);
});
