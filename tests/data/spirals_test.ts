import assert from "node:assert/strict";
import { spirals } from "../../src/data/spirals.ts";
import { key } from "../../src/tensor/random.ts";

Deno.test("spirals turn the way that their class says", () => {
  const { series, classes } = spirals(20, key(1), { noise: 0 });
  for (const { values, label } of series) {
    for (let t = 0; t + 1 < 64; t++) {
      const [x, y, nextX, nextY] = values.subarray(2 * t, 2 * t + 4);
      const turn = x * nextY - y * nextX;
      assert.equal(turn > 0 ? "counter-clockwise" : "clockwise", classes[label]);
    }
  }
});

Deno.test("spirals of one key are the same, and a longer list begins with a shorter one", () => {
  const [some, more] = [spirals(4, key(1)), spirals(8, key(1))];
  assert.deepEqual(more.series.slice(0, 4), some.series);
  assert.notDeepEqual(spirals(4, key(2)).series, some.series);
});

Deno.test("the noise has the asked deviation", () => {
  const [clean, noisy] = [0, 0.1].map((noise) => spirals(100, key(5), { noise }).series);
  const errors = noisy.flatMap(({ values }, i) => Array.from(values, (x, j) => x - clean[i].values[j]));
  const deviation = Math.sqrt(errors.reduce((sum, e) => sum + e * e, 0) / errors.length);
  assert(Math.abs(deviation - 0.1) < 0.003, `${deviation}`);
});
