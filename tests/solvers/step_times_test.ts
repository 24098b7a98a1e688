/** Times at which steps end are constants of every derivative. */
import assert from "node:assert/strict";
import {
  grad,
  integralController,
  jvp,
  key,
  odeint,
  sdeint,
  type SolveOptions,
  stepTo,
  stopGradient,
  type Tensor,
  tensor,
} from "../../mod.ts";

const numbers = (values: number[]) => tensor(values, { dtype: "float64" });
const y0 = numbers([2, 0.5]);

const constants: [title: string, options: (times: Tensor) => SolveOptions][] = [
  ["stepTimes", (stepTimes) => ({ method: "dopri5", controller: integralController({ stepTimes }) })],
  ["stepTo of dopri5", (times) => ({ method: "dopri5", controller: stepTo(times) })],
  ["stepTo of rk4", (times) => ({ method: "rk4", controller: stepTo(times) })],
  ["grid", (grid) => ({ method: "rk4", grid })],
];
for (const [title, options] of constants) {
  Deno.test(`the times at which steps end are constants: ${title}`, async () => {
    // A gradient would be that of the errors of the steps, so it is an error instead of zero.
    const run = (times: Tensor) => odeint((t, y) => y.sin().mul(t), y0, [0, 1], options(times)).sum();
    const times = numbers([0.3, 0.6]);
    const message =
      /times have no gradient; do not differentiate with respect to times, or pass stopGradient\(t\)/;
    assert.throws(() => grad(run)(times), message);
    assert.throws(() => jvp(run)([times], [times]), message);
    assert.throws(() => grad((x: Tensor) => run(times.mul(x)))(numbers([2])), message);
    const product = grad((x: Tensor) => run(stopGradient(times.mul(x))).mul(x).sum())(numbers([1]));
    assert.equal(await product.item(), await run(times).item());
    const plain = run([0.3, 0.6] as never);
    assert.equal(await run(times).item(), await plain.item(), "numbers");
  });
}

Deno.test("a stochastic equation has the steps of a grid in a tensor, which are constants", async () => {
  const run = (grid: Tensor | number[]) =>
    sdeint((_t, y) => y.neg(), (_t, y) => y.mul(0.1), y0, [0, 1], key(0), { method: "heun", grid }).sum();
  const [found, expected] = await Promise.all([numbers([0.3]), [0.3]].map((grid) => run(grid).item()));
  assert.equal(found, expected);
  assert.throws(() => grad(run)(numbers([0.3])), /sdeint: grid: times have no gradient/);
});
