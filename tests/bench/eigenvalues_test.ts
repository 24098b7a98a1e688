import assert from "node:assert/strict";
import { key, normal } from "../../mod.ts";
import { eigenvalues } from "../../bench/eigenvalues.ts";

Deno.test("the eigenvalues of a matrix have its trace and the traces of its powers", async () => {
  for (const size of [1, 2, 3, 10, 41]) {
    const matrix = normal(key(size), [size, size], { dtype: "float64" }).div(Math.sqrt(size));
    const { re, im } = eigenvalues(await matrix.data(), size);
    let [power, values] = [matrix, re.map((x, i) => [x, im[i]])];
    for (let n = 1; n <= 4; n++) {
      const diagonal = Array.from(await power.data()).filter((_, i) => i % (size + 1) === 0);
      const trace = diagonal.reduce((sum, x) => sum + x, 0);
      const [real, imaginary] = values.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
      assert.ok(Math.abs(real - trace) < 1e-10 * size && Math.abs(imaginary) < 1e-10 * size, `${size}, ${n}`);
      values = values.map(([a, b], i) => [a * re[i] - b * im[i], a * im[i] + b * re[i]]);
      power = power.matmul(matrix);
    }
  }
});

Deno.test("the eigenvalues of a rotation are on the unit circle at its angle", () => {
  const [c, s] = [Math.cos(0.7), Math.sin(0.7)];
  const { re, im } = eigenvalues([c, -s, 0, s, c, 0, 0, 0, 2], 3);
  const found = re.map((x, i) => [x, im[i]]).sort(([, a], [, b]) => a - b);
  for (const [i, [x, y]] of [[c, -s], [2, 0], [c, s]].entries()) {
    assert.ok(Math.abs(found[i][0] - x) < 1e-14 && Math.abs(found[i][1] - y) < 1e-14);
  }
});
