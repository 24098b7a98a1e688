import assert from "node:assert/strict";
import { cosineDecay, multiplySchedules, reduceOnPlateau, warmup } from "../../mod.ts";

Deno.test("warm-up rises linearly to 1 and stays there", () => {
  assert.deepEqual([0, 1, 3, 4, 100].map(warmup({ steps: 4 })), [0.25, 0.5, 1, 1, 1]);
  assert.equal(warmup({ steps: 2, from: 0.5 })(0), 0.75);
});

Deno.test("the cosine schedule falls from 1 to the minimum and stays there", () => {
  const schedule = cosineDecay({ steps: 100, minimum: 0.2 });
  const found = [0, 25, 50, 100, 1000].map(schedule);
  const expected = [1, 0.2 + 0.4 * (1 + Math.SQRT1_2), 0.6, 0.2, 0.2];
  found.forEach((factor, i) => assert.ok(Math.abs(factor - expected[i]) < 1e-12, `${found}`));
});

Deno.test("combined schedules are multiplied", () => {
  const schedule = multiplySchedules(warmup({ steps: 10 }), cosineDecay({ start: 10, steps: 20 }));
  const found = [4, 9, 10, 15, 20].map(schedule);
  [0.5, 1, 1, 0.5, 0].forEach((factor, i) => assert.ok(Math.abs(found[i] - factor) < 1e-12, `${found}`));
});

Deno.test("the learning rate falls to the minimum after more epochs without improvement than the patience", () => {
  const plateau = reduceOnPlateau({ factor: 0.5, patience: 1, minimum: 0.2 });
  const losses = [1, 0.9, 0.95, 0.9, 0.9, 0.9, 0.9, 0.9];
  assert.deepEqual(losses.map((loss) => plateau.update(loss)), [1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2]);
});

Deno.test("an improvement below the threshold does not count", () => {
  const plateau = reduceOnPlateau({ factor: 0.5, patience: 0, threshold: 0.1 });
  assert.deepEqual([1, 0.95, 0.8].map((loss) => plateau.update(loss)), [1, 0.5, 0.5]);
});

Deno.test("a plateau in mode max expects the metric to grow", () => {
  const plateau = reduceOnPlateau({ factor: 0.5, patience: 0, mode: "max" });
  assert.deepEqual([0.5, 0.6, 0.6].map((accuracy) => plateau.update(accuracy)), [1, 1, 0.5]);
});

Deno.test("a metric that is not finite is never an improvement", () => {
  const values = [NaN, Infinity, -Infinity, 3, 2, 1];
  const sequences = values.flatMap((a) => values.flatMap((b) => values.map((c) => [a, b, c])));
  for (const mode of ["min", "max"] as const) {
    for (const sequence of sequences) {
      const plateau = reduceOnPlateau({ factor: 0.5, patience: 0, mode });
      const sign = mode === "min" ? 1 : -1;
      let [best, factor] = [Infinity, 1];
      for (const metric of sequence) {
        const isBetter = Number.isFinite(metric) && sign * metric < best;
        if (isBetter) best = sign * metric;
        else factor /= 2;
        assert.equal(plateau.update(metric), factor, `${mode} ${sequence}`);
      }
      assert.equal(plateau.state.best, Number.isFinite(best) ? sign * best : null, `${mode} ${sequence}`);
      assert.deepEqual(JSON.parse(JSON.stringify(plateau.state)), plateau.state);
    }
  }
});

Deno.test("an average that includes a metric that is not finite is not an improvement", () => {
  for (const metric of [NaN, Infinity, -Infinity]) {
    const plateau = reduceOnPlateau({ factor: 0.5, patience: 0, average: 2 });
    assert.deepEqual([metric, 1, 2, 2].map((loss) => plateau.update(loss)), [1, 0.5, 0.5, 0.5]);
    assert.equal(plateau.state.best, 2);
  }
});

Deno.test("a plateau can average a number of metrics into one", () => {
  const plateau = reduceOnPlateau({ factor: 0.5, patience: 0, average: 3 });
  const losses = [3, 1, 2, 9, 0, 0, 1, 1, 1];
  // Averages of 2, 3 and 1: the second average is no improvement.
  assert.deepEqual(losses.map((loss) => plateau.update(loss)), [1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]);
  assert.equal(plateau.state.best, 1);
  assert.throws(() => reduceOnPlateau({ average: 0 }), /average is 0/);
});

Deno.test("a plateau continues from a state saved in the middle of an average", () => {
  const [first, second] = [0, 1].map(() => reduceOnPlateau({ factor: 0.5, patience: 0, average: 2 }));
  [1, 2, 3].forEach((loss) => first.update(loss));
  second.state = JSON.parse(JSON.stringify(first.state));
  assert.equal(second.update(4), 0.5);
});

Deno.test("a plateau continues from its state saved as JSON", () => {
  const [first, second] = [0, 1].map(() => reduceOnPlateau({ factor: 0.5, patience: 1 }));
  [1, 2].forEach((loss) => first.update(loss));
  second.state = JSON.parse(JSON.stringify(first.state));
  assert.deepEqual([3, 4, 5].map((x) => second.update(x)), [3, 4, 5].map((x) => first.update(x)));
  assert.equal(second.state.factor, 0.25);
});

Deno.test("schedules reject invalid options", () => {
  assert.throws(() => cosineDecay({ steps: 10, start: 10 }), /steps is 10, expected more than start/);
  assert.throws(() => warmup({ steps: NaN }), /steps is NaN/);
  assert.throws(() => reduceOnPlateau({ factor: 2 }), /factor is 2/);
  assert.throws(() => reduceOnPlateau({ mode: "up" as "max" }), /mode is "up", expected "min" or "max"/);
});
