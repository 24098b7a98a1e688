/** Gradients of solutions with respect to their first time and output times. */
import assert from "node:assert/strict";
import {
  cdeint,
  CubicSpline,
  grad,
  key,
  naturalCubicCoeffs,
  normal,
  odeint,
  type SolveOptions,
  type Tensor,
  tensor,
  valueAndGrad,
  vjp,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const tight = { method: "dopri5", rtol: 1e-10, atol: 1e-12 } as const;

/** y' = -t y, whose solution is y_0 exp((t_0^2 - t^2) / 2). */
const field = (t: Tensor, y: Tensor) => y.mul(t).neg();
const times = [0.3, 0.8, 1.7, 2.1];
const y0 = tensor([1.5, -0.4], { dtype });
const weights = tensor([[0.3, 1], [2, -1], [0.7, 0.2], [-0.5, 0.4]], { dtype });

/** The gradient of the weighted sum of the exact solution. */
async function exactGradient(): Promise<number[]> {
  const [start, w] = [await y0.toArray() as number[], await weights.toArray() as number[][]];
  const y = times.map((t) => start.map((value) => value * Math.exp((times[0] ** 2 - t ** 2) / 2)));
  const dot = (j: number) => w[j][0] * y[j][0] + w[j][1] * y[j][1];
  const later = times.map((t, j) => j === 0 ? 0 : -t * dot(j));
  return [[1, 2, 3].reduce((sum, j) => sum + times[0] * dot(j), 0), ...later.slice(1)];
}

const solvers: Record<string, SolveOptions> = {
  "dopri5": tight,
  "dopri5 with the continuous adjoint": { ...tight, adjoint: "continuous" },
  "dopri5 with steps of each sample": { ...tight, norm: "sample" },
  "rk4": { method: "rk4", stepSize: 0.01 },
  "rk4, step by step": { method: "rk4", stepSize: 0.01, compile: false },
};
for (const [name, options] of Object.entries(solvers)) {
  Deno.test(`gradients of odeint with respect to its times are those of the exact solution: ${name}`, async () => {
    // With one time per sample, the samples are the first axis.
    const start = options.norm === "sample" ? y0.expandDims(-1) : y0;
    const loss = (t: Tensor) => odeint(field, start, t, options).reshape([4, 2]).mul(weights).sum();
    const [value, gradient] = valueAndGrad(loss)(tensor(times, { dtype }));
    const expected = await exactGradient();
    const found = await gradient.data();
    expected.forEach((number, j) =>
      assert.ok(Math.abs(found[j] - number) < 1e-7, `${j}: ${found[j]}, ${number}`)
    );
    assert.equal(await value.item(), await loss(tensor(times, { dtype })).item(), "the values do not change");
  });
}

Deno.test("gradients with respect to times and to a tree of states agree with central differences", async () => {
  const start = { a: y0, b: tensor([0.2], { dtype }) };
  const f = (t: Tensor, { a, b }: typeof start) => ({ a: a.mul(b.cos()).mul(t), b: b.sub(a.sum()).tanh() });
  const loss = (t: Tensor, start: { a: Tensor; b: Tensor }) => {
    const { a, b } = odeint(f, start, t, tight);
    return a.square().sum().add(b.sum());
  };
  const gradient = await grad(loss)(tensor(times, { dtype }), start).data();
  for (const j of times.keys()) {
    const shifted = async (by: number) =>
      await loss(tensor(times.map((t, i) => i === j ? t + by : t), { dtype }), start).item();
    const difference = (await shifted(1e-4) - await shifted(-1e-4)) / 2e-4;
    assert.ok(Math.abs(gradient[j] / difference - 1) < 1e-6, `${j}: ${gradient[j]}, ${difference}`);
  }
});

testLong(
  "the gradient of cdeint with respect to the first time is equation 6 of Kidger et al., 2020",
  async () => {
    const grid = [0, 0.7, 1.5, 2, 3.2];
    const X = CubicSpline(
      naturalCubicCoeffs(normal(key(0), [5, 2], { dtype }), tensor(grid, { dtype })),
      grid,
    );
    const A = normal(key(1), [6, 3], { dtype });
    const f = (_: Tensor, z: Tensor) => A.matmul(z.tanh().expandDims(-1)).reshape([3, 2]).tanh();
    const z0 = normal(key(2), [3], { dtype });
    const [first, last] = [0.2, 2.9];
    const lossOf = (z: Tensor) => z.square().sum();
    const loss = (t: Tensor) => lossOf(cdeint(X, f, z0, t, tight).select(0, 1));
    const [dFirst, dLast] = await grad(loss)(tensor([first, last], { dtype })).data();
    // Backwards: the state, its adjoint a, and the integral of a . f(z) X''.
    const end = cdeint(X, f, z0, [first, last], tight).select(0, 1);
    const back = odeint(
      (t: Tensor, { z, a }: Record<"z" | "a" | "integral", Tensor>) => {
        const slope = X.derivative(t).expandDims(-1);
        const along = a.expandDims(0).matmul(f(t, z)).squeeze(0);
        return {
          z: f(t, z).matmul(slope).squeeze(-1),
          a: vjp(() => f(t, z).matmul(slope).squeeze(-1), z).pullback(a).neg(),
          integral: grad((t: Tensor) => X.derivative(t).mul(along).sum())(t).expandDims(0),
        };
      },
      { z: end, a: end.mul(2), integral: tensor([0], { dtype }) },
      [last, first],
      { ...tight, jumpTimes: grid, compile: false },
    );
    // Equation 6 with a negative first term: if X'' = 0, the loss depends on t_n - t_0 alone.
    const equation6 = -dLast - await back.integral.select(0, 1).item();
    assert.ok(Math.abs(dFirst - equation6) < 1e-6, `${dFirst}, ${equation6}`);
  },
);

Deno.test("second gradients with respect to times are rejected", () => {
  const inner = (t: Tensor) => odeint(field, y0, t, tight).sum();
  assert.throws(
    () => grad((t: Tensor) => grad(inner)(t).sum())(tensor(times, { dtype })),
    /odeint: gradients of order 2 are requested, times have gradients of order 1/,
  );
});
