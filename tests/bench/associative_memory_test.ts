import assert from "node:assert/strict";
import { deltaRule, hebbRule, type LearningRule, type Tensor } from "../../mod.ts";
import { readBackErrors } from "../../bench/associative_memory.ts";
import { testLong } from "../devices.ts";

const sizes = { keys: 6, span: 10, rounds: 3 };
const tolerance = 1e-3;
const deltas: [name: string, rule: LearningRule, target?: (values: Tensor) => Tensor][] = [
  ["the delta rule", deltaRule()],
  ["the delta rule with tanh after the subtraction", deltaRule({ postTanh: true }), (values) => values],
];

for (const [name, rule, target] of deltas) {
  testLong(`${name} recalls values of orthogonal keys, overwritten values included`, async () => {
    for (const seed of [0, 1, 2]) {
      const errors = await readBackErrors({ ...sizes, rule, target, rate: 0.99, seed });
      assert.equal(errors.length, 18);
      assert.ok(Math.max(...errors) < tolerance, `${errors}`);
    }
  });
}

Deno.test("Hebb's rule recalls values of orthogonal keys, but adds an overwriting value to the old one", async () => {
  const errors = await readBackErrors({ ...sizes, rule: hebbRule(), rate: 0.1 });
  const first = errors.slice(0, sizes.keys);
  const rewritten = errors.slice(sizes.keys);
  assert.ok(Math.max(...first) < tolerance, `${first}`);
  assert.ok(Math.min(...rewritten) > 0.1, `${rewritten}`);
});
