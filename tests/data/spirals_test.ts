import assert from "node:assert/strict";
import { exponentialSpirals, spirals } from "../../src/data/spirals.ts";
import { key } from "../../src/tensor/random.ts";

Deno.test("spirals turn in the direction of their class", () => {
  const { series, classes } = spirals(20, key(1), { noise: 0 });
  for (const { values, label } of series) {
    for (let t = 0; t + 1 < 64; t++) {
      const [x, y, nextX, nextY] = values.subarray(2 * t, 2 * t + 4);
      const turn = x * nextY - y * nextX;
      assert.equal(turn > 0 ? "counter-clockwise" : "clockwise", classes[label]);
    }
  }
});

Deno.test("the same key gives the same spirals, and their number does not change the first ones", () => {
  const [some, more] = [spirals(4, key(1)), spirals(8, key(1))];
  assert.deepEqual(more.series.slice(0, 4), some.series);
  assert.notDeepEqual(spirals(4, key(2)).series, some.series);
});

Deno.test("the noise has the given standard deviation", () => {
  const [clean, noisy] = [0, 0.1].map((noise) => spirals(100, key(5), { noise }).series);
  const errors = noisy.flatMap(({ values }, i) => Array.from(values, (x, j) => x - clean[i].values[j]));
  const deviation = Math.sqrt(errors.reduce((sum, e) => sum + e * e, 0) / errors.length);
  assert(Math.abs(deviation - 0.1) < 0.003, `${deviation}`);
});

Deno.test("exponential spirals solve x' = M x with M = [[-0.3, w], [-w, -0.3]] over a time of 4 pi", () => {
  const { series } = spirals(2, key(3), exponentialSpirals);
  for (const { values, label } of series) {
    const w = label === 0 ? 2 : -2; // counter-clockwise first
    const time = 4 * Math.PI / 63;
    const [decay, cos, sin] = [Math.exp(-0.3 * time), Math.cos(w * time), Math.sin(w * time)];
    for (let t = 0; t + 1 < 64; t++) {
      const [x, y, nextX, nextY] = values.subarray(2 * t, 2 * t + 4);
      assert.ok(Math.abs(nextX - decay * (cos * x - sin * y)) < 1e-12);
      assert.ok(Math.abs(nextY - decay * (sin * x + cos * y)) < 1e-12);
    }
  }
});
