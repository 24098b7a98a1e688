import assert from "node:assert/strict";
import { grad, ones, scan, type Tensor, zeros } from "../../mod.ts";
import { testOnCpu } from "../devices.ts";
import { solved } from "../loops.ts";

testOnCpu("the gradient of a constant over 30,000 steps is not lost in rounding", async () => {
  const [steps, rate] = [30_000, 0.1];
  // With w = 0 the state stays at one, and each step adds the rate to the gradient.
  const gradientIn = async (dtype: "float32" | "float64") => {
    const step =
      (w: Tensor) => (y: Tensor, _x: Tensor): [Tensor, []] => [y.add(w.mul(y).sin().mul(rate)), []];
    const loss = (w: Tensor) => scan(step(w), ones([1, 1], { dtype }), zeros([steps], { dtype }))[0].sum();
    return await solved(true, () => grad(loss)(zeros([1], { dtype }))).item();
  };
  const [single, double] = [await gradientIn("float32"), await gradientIn("float64")];
  assert.ok(Math.abs(double - steps * rate) < 1e-8 * double);
  assert.ok(Math.abs(single - double) < 3e-5 * double, `${single} is not ${double}`);
});
