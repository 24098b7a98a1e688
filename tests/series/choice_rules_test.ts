/** Rules of the choice of a model, on errors that are made up. */
import assert from "node:assert/strict";
import {
  betterHalf,
  boundedErrors,
  chooseSimplest,
  differenceOf,
  isClearlyBehind,
} from "../../src/series/choose/rules.ts";

const baseline = [1, 1, 1, 1, 1, 1, 1, 1];
const candidate = (name: string, errors: number[], independent?: number) => ({
  ...{ name, errors, baseline },
  ...(independent ? { independent } : {}),
});
const flat = candidate("flat", [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);

Deno.test("an error counts at most four times the baseline's, of its series or of the mean", () => {
  assert.deepEqual(boundedErrors({ errors: [100, 100, 0.5], baseline: [3, 0, 0] }), [12, 4, 0.5]);
});

Deno.test("one exploded series does not hide that a model is worse", () => {
  const exploded = candidate("exploded", [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 300]);
  assert.ok(differenceOf(exploded, flat).standardError < 0.5);
  assert.equal(chooseSimplest([exploded, flat])!.simplest, flat);
  // Without the bound, the standard error of the difference would exceed the difference.
  assert.ok(300 / 8 / Math.sqrt(7) > 37 / 8);
});

Deno.test("a model with a larger mean error than the baseline is not chosen over a useful one", () => {
  // Its bounded mean is the smallest, but one series alone makes its mean larger than the baseline's.
  const bad = candidate("bad", [0, 0, 0, 0, 0, 0, 0, 99]);
  assert.ok(boundedErrors(bad).reduce((sum, error) => sum + error) / 8 <= 0.5);
  assert.equal(chooseSimplest([bad, flat])!.simplest, flat);
});

Deno.test("without a useful model, the one with the smallest mean error is chosen", () => {
  const constant = candidate("constant", baseline.map(() => 1.01));
  const worse = candidate("worse", baseline.map(() => 1.5));
  assert.equal(chooseSimplest([worse, constant])!.simplest, constant);
  assert.equal(chooseSimplest([]), undefined);
  assert.equal(chooseSimplest([candidate("failed", [])]), undefined);
});

Deno.test("the baseline itself is a candidate in spite of rounding", () => {
  const itself = candidate("itself", baseline.map((error) => error + 1e-12));
  const noisy = candidate("noisy", [0, 2, 0, 2, 0, 2, 0, 1.9]);
  assert.equal(chooseSimplest([itself, noisy])!.simplest, itself);
  assert.equal(chooseSimplest([itself, noisy])!.best, noisy);
});

Deno.test("the simplest model within one standard error of the best is chosen", () => {
  const close = candidate("close", [0.4, 0.55, 0.4, 0.55, 0.4, 0.55, 0.4, 0.6]);
  const better = candidate("better", [0.3, 0.5, 0.3, 0.5, 0.3, 0.5, 0.3, 0.5]);
  assert.equal(chooseSimplest([flat, close])!.simplest, flat);
  assert.equal(chooseSimplest([flat, close])!.best, close);
  assert.equal(chooseSimplest([flat, better])!.simplest, better);
});

Deno.test("errors that depend on each other count less", () => {
  const dependent = (errors: number[]) => candidate("dependent", errors, 1);
  const [simple, best] = [dependent(flat.errors), dependent([0.3, 0.5, 0.3, 0.5, 0.3, 0.5, 0.3, 0.5])];
  assert.equal(chooseSimplest([simple, best])!.simplest, simple);
});

Deno.test("a model is clearly behind from two standard errors", () => {
  const behind = candidate("behind", [0.6, 0.8, 0.6, 0.8, 0.6, 0.8, 0.6, 0.8]);
  const close = candidate("close", [0.3, 0.8, 0.3, 0.8, 0.3, 0.8, 0.3, 0.8]);
  assert.ok(isClearlyBehind(behind, flat));
  assert.ok(!isClearlyBehind(close, flat));
  assert.ok(!isClearlyBehind(flat, flat));
});

Deno.test("the better half keeps its order, and at least one model", () => {
  const [a, b, c] = [0.9, 0.2, 0.5].map((error, i) => candidate(`${i}`, baseline.map(() => error)));
  assert.deepEqual(betterHalf([a, b, c]), [b, c]);
  assert.deepEqual(betterHalf([a]), [a]);
  assert.deepEqual(betterHalf([]), []);
});
