import assert from "node:assert/strict";
import { partsFor, summaryFeatures, summaryNames } from "../../src/series/models/trees/summary_features.ts";

/** Features by name, rounded to 9 digits. */
function named(times: number[], values: number[], channels: Parameters<typeof summaryNames>[0], parts = 0) {
  const features = summaryFeatures(
    { times: Float64Array.from(times), values: Float64Array.from(values) },
    channels,
    parts,
  );
  return Object.fromEntries(
    summaryNames(channels, parts).map((name, i) => [name, Number(features[i].toPrecision(9))]),
  );
}

Deno.test("a channel and a static channel have the features that are computed by hand", () => {
  const channels = [{ name: "a" }, { name: "s", role: "static" }] as const;
  const rows = [[1, 5], [NaN, 5], [4, 5], [2, NaN], [NaN, 5]];
  assert.deepEqual(named([0, 1, 4, 6, 8], rows.flat(), channels), {
    "last of a": 2,
    "first of a": 1,
    "change of a": 1,
    "since of a": 2,
    "mean of a": 2.33333333,
    "minimum of a": 1,
    "maximum of a": 4,
    "standard deviation of a": 1.24721913,
    // Times 0, 4, 6 have the mean 10/3: (-4/3 * -10/3 + 5/3 * 2/3 - 1/3 * 8/3) / (56/3).
    "slope of a": 0.25,
    "count of a": 3,
    "mean of a, last half": 3,
    "minimum of a, last half": 2,
    "maximum of a, last half": 4,
    "standard deviation of a, last half": 1,
    "slope of a, last half": -1,
    "count of a, last half": 2,
    "mean of a, last quarter": 2,
    "minimum of a, last quarter": 2,
    "maximum of a, last quarter": 2,
    "standard deviation of a, last quarter": 0,
    "slope of a, last quarter": NaN,
    "count of a, last quarter": 1,
    "s": 5,
    "number of rows": 5,
    "duration": 8,
  });
});

Deno.test("a channel without values has missing features and the count 0", () => {
  const features = named([3, 4], [NaN, NaN], [{ name: "a" }]);
  const known = Object.entries(features).filter(([, value]) => !Number.isNaN(value));
  assert.deepEqual(Object.fromEntries(known), {
    "count of a": 0,
    "count of a, last half": 0,
    "count of a, last quarter": 0,
    "number of rows": 2,
    "duration": 1,
  });
});

Deno.test("equal values have equal features, without rounding errors, for any number of rows", () => {
  for (const count of [1, 3, 10, 1000]) {
    const times = Array.from({ length: count }, (_, i) => i * 0.1);
    const features = named(times, times.map(() => 0.1), [{ name: "a" }]);
    for (const window of ["", ", last half", ", last quarter"]) {
      for (const feature of ["mean", "minimum", "maximum"]) {
        assert.equal(features[`${feature} of a${window}`], 0.1);
      }
      assert.equal(features[`standard deviation of a${window}`], 0);
    }
    assert.equal(features["slope of a"], count > 1 ? 0 : NaN);
  }
});

Deno.test("shifted times change no feature", () => {
  const values = [1, 4, 2, 8];
  const [first, later] = [0, 1e6].map((start) =>
    named([0, 1, 3, 4].map((t) => start + t), values, [{ name: "a" }])
  );
  assert.deepEqual(first, later);
});

Deno.test("each row is in one of the equal parts, and the parts have the features of their rows", () => {
  for (const [count, gap] of [[17, 1], [9, 0.1], [64, 1 / 3]]) {
    const times = Array.from({ length: count }, (_, i) => 0.1 + i * gap);
    for (const parts of [4, 8]) {
      const features = named(times, times.map((_, i) => i), [{ name: "a" }], parts);
      const names = Array.from(
        { length: parts },
        (_, i) => parts === 4 && i === 3 ? "last quarter" : `part ${i + 1} of ${parts}`,
      );
      let first = 0;
      for (const name of names) {
        const rows = features[`count of a, ${name}`];
        assert.ok(Math.abs(rows - count / parts) <= 1, `${name}: ${rows} of ${count}`);
        assert.equal(features[`minimum of a, ${name}`], first);
        assert.equal(features[`maximum of a, ${name}`], first + rows - 1);
        first += rows;
      }
      assert.equal(first, count);
    }
  }
});

Deno.test("series of about equal durations have 8 or 4 equal parts of at least 4 rows, others none", () => {
  const range = { mean: 0, standardDeviation: 1 };
  const partsOf = (low: number, high: number, rows: number) =>
    partsFor({ durations: { ...range, low, high }, lengths: { ...range, low: 1, high: 99, mean: rows } });
  assert.deepEqual([31.9, 32, 16, 15.9].map((rows) => partsOf(75, 100, rows)), [4, 8, 4, 0]);
  assert.equal(partsOf(74, 100, 1000), 0);
  assert.equal(partsFor({ durations: null, lengths: null }), 0);
});
