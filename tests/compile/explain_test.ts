import assert from "node:assert/strict";
import { explain, key, normal, odeint, ones, type Tensor, valueAndGrad } from "../../mod.ts";
import { displayDescriptions } from "../../src/compile/inspect/description.ts";
import { testOnBoth } from "../devices.ts";
import { displayOf, rowsOf } from "../display.ts";

const weight = normal(key(0), [3, 3]);
const solve = () =>
  odeint((t: Tensor, y: Tensor) => y.matmul(weight).add(t).tanh(), ones([5, 3]), [0, 1], {
    method: "rk4",
    stepSize: 0.1,
  });

Deno.test("explain describes the graph, the split, kernels, memory and arithmetic of a compiled solve", () => {
  const text = explain(solve).text;
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
  const text = explain(() => valueAndGrad(() => solve().sum())(weight)).text;
  assert.match(text, /backward loop: 10 steps of 5 samples/);
  assert.match(text, /gradient0 \+= /);
});

Deno.test("explain reports that a function has no compiled loop", () => {
  assert.match(explain(() => ones([2])).text, /no compiled loop/);
});

testOnBoth("explain describes the layout of a loop on a GPU", () => {
  const text = explain(() =>
    odeint((_t, y) => y.neg(), ones([4, 2]), [0, 1], { method: "rk4", stepSize: 0.1 })
  ).text;
  assert.match(text, /a step: \d+ calls of functions, \d+ barriers; \d+ % of the lanes are busy/);
});

Deno.test("a notebook shows a description as tables, and console.log as a text", async () => {
  const found = explain(solve);
  assert.equal(`${found}`, found.text);
  assert.equal(Deno.inspect(found), found.text);
  const { "text/plain": text, "text/html": html } = await displayOf(found);
  assert.equal(text, found.text);
  const titles = [...html.matchAll(/<p>(.*?)<\/p>/g)].map(([, title]) => title);
  assert.deepEqual(titles, [
    "forward loop: 10 steps of 5 samples, float32, on cpu",
    "before the loop, for all steps at once",
    "in every step",
    "kernels of a step, for one sample",
  ]);
  const rows = rowsOf(html);
  assert.deepEqual(rows[0], ["row0 (10,)", "given"]);
  assert.match(rows.find(([name]) => name === "%0 (5, 3)")![1], /^matmul\(state0, constant \(3, 3\)\)$/);
  assert.match(rows.find(([name]) => name === "memory per sample")![1], /^\d+ bytes$/);
  assert.equal(rows.length, text.split("\n").filter((line) => line !== "").length - titles.length);
});

Deno.test("a notebook shows equal loops once", async () => {
  const found = explain(() => {
    solve();
    solve();
  });
  const html = (await displayOf(found))["text/html"];
  assert.match(
    html,
    /^<div class="weft"><p>2 times: forward loop: 10 steps of 5 samples, float32, on cpu<\/p>/,
  );
});

Deno.test("a notebook shows names of devices as text", async () => {
  const { "text/html": html } = await displayDescriptions("", [{ title: "on <gpu>", parts: [] }]);
  assert.match(html!, /<p>on &#60;gpu&#62;<\/p>/);
});
