/** The exponential and the logarithm of predictions. */
import assert from "node:assert/strict";
import { sha256 } from "../../src/files/digest.ts";
import { asinh, exp, log } from "../../src/series/math/elementary.ts";

/** Numbers of many magnitudes and both signs. */
const numbers = Array.from({ length: 20_000 }, (_, i) => {
  const size = 2 ** ((i * 37) % 40 - 30) * (1 + (i * 7919 % 10_007) / 10_007);
  return i % 2 ? size : -size;
});

Deno.test("exp and log are those of JavaScript up to rounding", () => {
  const bound = 1e-15;
  for (const x of numbers) {
    const [power, expected] = [exp(x), Math.exp(x)];
    assert.ok(power === expected || Math.abs(power - expected) <= bound * expected, `exp(${x}) is ${power}`);
    const positive = Math.abs(x);
    const difference = Math.abs(log(positive) - Math.log(positive));
    assert.ok(difference <= bound * Math.max(1, Math.abs(Math.log(positive))), `log(${positive})`);
  }
  for (const x of [0, Infinity, -Infinity, NaN, 5e-324, 2 ** -1022, 1000, -1000]) {
    assert.equal(exp(x), Math.exp(x), `exp(${x})`);
    assert.ok(Object.is(log(x), Math.log(x)) || Math.abs(log(x) - Math.log(x)) < 1e-12, `log(${x})`);
  }
});

Deno.test("asinh is that of JavaScript up to rounding", () => {
  for (const x of [...numbers, 0, 1e-300, 2 ** 499, 2 ** 501, 1e308, -1e308, Infinity, -Infinity, NaN]) {
    const [found, expected] = [asinh(x), Math.asinh(x)];
    const bound = 4e-15 * Math.max(1, Math.abs(expected));
    assert.ok(Object.is(found, expected) || Math.abs(found - expected) <= bound, `asinh(${x}) is ${found}`);
  }
});

Deno.test("exp and log have the same digits in every program", async () => {
  const values = Float64Array.from(numbers.flatMap((x) => [exp(x), log(Math.abs(x))]));
  assert.equal((await sha256(values)).slice(0, 16), "721f9e8edc543e1a");
});
