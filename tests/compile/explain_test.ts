import assert from "node:assert/strict";
import { explain, key, normal, odeint, ones, type Tensor, valueAndGrad } from "../../mod.ts";

const weight = normal(key(0), [3, 3]);
const solve = () =>
  odeint((t: Tensor, y: Tensor) => y.matmul(weight).add(t).tanh(), ones([5, 3]), [0, 1], {
    method: "rk4",
    stepSize: 0.1,
  });

Deno.test("explain describes the graph, the split, kernels, memory and arithmetic of a compiled solve", () => {
  const text = explain(solve);
  for (
    const part of [
      /forward loop: 10 steps of 5 samples, float32, on cpu/,
      /before the loop, for all steps at once:\n {2}row0 \(10,\): given/,
      /= matmul\(state0, constant \(3, 3\)\)/,
      /next state: %\d+/,
      /slot\d+\(1, 3\) = slot\d+\(1, 3\) @ shared\d+\(3, 3\)/,
      /memory per sample: \d+ bytes/,
      /arithmetic: \d+ operations per sample and step/,
    ]
  ) assert.match(text, part);
});

Deno.test("explain describes the gradient loop after the forward loop", () => {
  const text = explain(() => valueAndGrad(() => solve().sum())(weight));
  assert.match(text, /backward loop: 10 steps of 5 samples/);
  assert.match(text, /gradient0 \+= /);
});

Deno.test("explain reports that a function has no compiled loop", () => {
  assert.match(explain(() => ones([2])), /no compiled loop/);
});
