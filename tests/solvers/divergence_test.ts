import assert from "node:assert/strict";
import { DivergenceError, type MethodName, odeint, tensor } from "../../mod.ts";

const blowUp = (options: { check?: boolean; method?: MethodName }, end = 10) =>
  odeint((_t, y) => y.square(), tensor([[0.1], [3], [0.5]]), [0, end], {
    method: "rk4",
    stepSize: 0.1,
    ...options,
  });

Deno.test("with the check option, an infinite state is reported with step, time and sample", () => {
  assert.throws(() => blowUp({ check: true }), (error: unknown) => {
    assert.ok(error instanceof DivergenceError);
    assert.equal(error.sample, 1);
    assert.ok(error.step > 2 && error.step < 20, `step ${error.step}`);
    assert.ok(Math.abs(error.time - (error.step + 1) * 0.1) < 1e-9);
    assert.match(
      error.message,
      /the state of sample 1 became (Infinity|NaN) in step \d+ of 100, which ends at t = /,
    );
    return true;
  });
});

Deno.test("the reported step is the first with a state that is not finite", async () => {
  const isFinite = async (steps: number) => Number.isFinite(await blowUp({}, steps * 0.1).sum().item());
  const step = Array.from({ length: 20 }, (_, step) => step);
  const finite = await Promise.all(step.map((step) => isFinite(step + 1)));
  assert.throws(() => blowUp({ check: true }), { step: finite.indexOf(false) });
});

Deno.test("states are not checked by default", async () => {
  const [, end] = [...await blowUp({}).select(0, 1).data()];
  assert.ok(!Number.isFinite(end));
});

Deno.test("a finite solve passes the check", async () => {
  const y = odeint((_t, y) => y.neg(), tensor([[1]]), [0, 1], { method: "rk4", stepSize: 0.1, check: true });
  assert.ok(Math.abs((await y.data())[1] - Math.exp(-1)) < 1e-5);
});

Deno.test("the report locates the element by the names of the state's axes", () => {
  const y0 = tensor([0.1, 0.1, 0.1, 0.1, 0.1, 3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], { shape: [2, 2, 3] });
  const solve = () =>
    odeint((_t, y) => y.square(), y0, [0, 9], { method: "rk4", stepSize: 0.1, check: ["row", "column"] });
  assert.throws(solve, (error: unknown) => {
    assert.ok(error instanceof DivergenceError);
    assert.deepEqual([error.sample, ...error.index], [0, 1, 2]);
    assert.match(error.message, /^the state of sample 0, row 1, column 2 became/);
    return true;
  });
});
