/**
 * Batches without samples, for example after filtering a data set: adaptive solves return results without
 * samples.
 */
import assert from "node:assert/strict";
import {
  type Adjoint,
  cdeint,
  type ErrorNorm,
  findCdeintSteps,
  findOdeintSteps,
  key,
  linearCoeffs,
  LinearInterpolation,
  type MethodName,
  normal,
  odeint,
  odeintEvent,
  type Tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";

const t = [0, 0.3, 1];
const weights = normal(key(0), [3, 6]);
const X = LinearInterpolation(linearCoeffs(normal(key(1), [3, 2]), t), t);
const control = (w: Tensor) => (_t: Tensor, z: Tensor) => z.matmul(w).tanh().reshape([-1, 3, 2]);

const cases: [method: MethodName, norm: ErrorNorm | undefined, adjoint: Adjoint][] = [
  ["dopri5", "batch", "direct"],
  ["dopri5", "sample", "direct"],
  ["dopri5", "batch", "continuous"],
  ["dopri5", "sample", "continuous"],
  ["kvaerno3", "batch", "direct"],
  ["kvaerno3", "sample", "continuous"],
];
for (const [method, norm, adjoint] of cases) {
  Deno.test(`an empty batch is solved by ${method}, norm ${norm}, ${adjoint} gradient`, async () => {
    const options = { method, norm, adjoint, maxSteps: 200 } as const;
    const y0 = zeros([0, 3]);
    const solves = [
      (w: Tensor, y0: Tensor) =>
        odeint((t, y) => y.matmul(w.slice(1, 0, 3)).add(t), y0, t, { ...options, jumpTimes: [0.5] }),
      (w: Tensor, y0: Tensor) => cdeint(X, control(w), y0, t, options).transpose(0, 1),
    ];
    for (const solve of solves) {
      assert.deepEqual(solve(weights, y0).shape, [3, 0, 3]);
      const [, [ofWeights, ofState]] = valueAndGrad(([w, y]: Tensor[]) => solve(w, y).sum())([weights, y0]);
      assert.ok((await ofWeights.data()).every((value) => value === 0));
      assert.deepEqual(ofState.shape, [0, 3]);
    }
    if (adjoint !== "direct") return;
    const f = (_t: Tensor, y: Tensor) => y.neg();
    const found = await findOdeintSteps(f, y0, t, options);
    assert.deepEqual(odeint(f, y0, t, { steps: found }).shape, [3, 0, 3]);
    const along = await findCdeintSteps(X, control(weights), y0, t, options);
    assert.deepEqual(cdeint(X, control(weights), y0, t, { steps: along }).shape, [0, 3, 3]);
  });
}

Deno.test("samples without elements are solved with per-sample steps", () => {
  const statistics = { steps: 0, rejected: 0, evaluations: 0, stepsOfSamples: [] as number[] };
  odeint((_t, y) => y.neg(), zeros([2, 0]), t, { method: "dopri5", norm: "sample", statistics });
  assert.equal(statistics.stepsOfSamples.length, 2);
});

Deno.test("odeintEvent reports no event for an event function without elements", () => {
  const solve = () => odeintEvent((_t, y) => y.neg(), zeros([0, 3]), 0, (_t, y) => y.select(1, 0));
  assert.throws(solve, /event function returned \(0,\) for a state of \(0, 3\)/);
});
