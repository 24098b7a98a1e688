import assert from "node:assert/strict";
import { channelStatistics } from "../../src/data/scaling.ts";
import {
  dropObservations,
  normalise,
  type Series,
  stackSeries,
  stratifiedSplit,
} from "../../src/data/series.ts";
import { key } from "../../src/tensor/random.ts";

const series = (rows: number[][], label = 0, times = rows.map((_, i) => i)): Series => ({
  name: "one",
  times: Float64Array.from(times),
  values: Float64Array.from(rows.flat()),
  label,
});

Deno.test("a stratified split divides every class in the same proportions and loses no item", () => {
  const items = Array.from({ length: 300 }, (_, id) => ({ id, label: id % 3 === 0 ? 0 : 1 }));
  const { train, validation, test } = stratifiedSplit(items, key(3));
  const count = (part: typeof items, label: number) => part.filter((item) => item.label === label).length;
  assert.deepEqual([train, validation, test].map((part) => count(part, 0)), [70, 15, 15]);
  assert.deepEqual([train, validation, test].map((part) => count(part, 1)), [140, 30, 30]);
  assert.equal(new Set([...train, ...validation, ...test]).size, 300);
});

Deno.test("a split of 200,000 items succeeds", () => {
  const items = Array.from({ length: 200_000 }, (_, id) => ({ label: id % 2 }));
  const parts = stratifiedSplit(items, key(3));
  assert.deepEqual(Object.values(parts).map(({ length }) => length), [140_000, 30_000, 30_000]);
});

Deno.test("a class of three items is in all parts", () => {
  const items = Array.from({ length: 3 }, () => ({ label: 0 }));
  const { train, validation, test } = stratifiedSplit(items, key(3));
  assert.deepEqual([train, validation, test].map((part) => part.length), [1, 1, 1]);
});

Deno.test("a split depends only on its key", () => {
  const items = Array.from({ length: 60 }, (_, id) => ({ id, label: id % 2 }));
  const ids = (seed: number) => stratifiedSplit(items, key(seed)).train.map(({ id }) => id);
  assert.deepEqual(ids(1), ids(1));
  assert.notDeepEqual(ids(1), ids(2));
});

Deno.test("dropping removes the given fraction of observations, different ones in each series", () => {
  const rows = Array.from({ length: 20 }, (_, t) => [t, -t]);
  const all = [series(rows), series(rows)];
  const set = { name: "", channels: ["x", "y"], times: "number", classes: ["a"], series: all } as const;
  const dropped = dropObservations(set, 0.3, key(0)).series.map(({ values }) =>
    rows.flatMap((_, t) => {
      assert.equal(Number.isNaN(values[2 * t]), Number.isNaN(values[2 * t + 1]));
      return Number.isNaN(values[2 * t]) ? [t] : [];
    })
  );
  assert.deepEqual(dropped.map(({ length }) => length), [6, 6]);
  assert.notDeepEqual(dropped[0], dropped[1]);
  assert.equal(set.series[0].values.some(Number.isNaN), false);
});

Deno.test("normalized channels have mean 0 and standard deviation 1 over observed values", () => {
  const all = [series([[1, 5], [NaN, 5]]), series([[3, 5], [5, NaN]])];
  const statistics = channelStatistics(all, 2);
  assert.deepEqual(statistics[1], { mean: 5, standardDeviation: 1 });
  const [{ mean, standardDeviation }] = channelStatistics(normalise(all, statistics), 2);
  assert(Math.abs(mean) < 1e-12 && Math.abs(standardDeviation - 1) < 1e-12);
});

Deno.test("a constant channel has its value as mean and standard deviation 1 in spite of rounding", () => {
  const values = Array.from({ length: 100 }, () => [0.1]);
  assert.deepEqual(channelStatistics([series(values)], 1), [{ mean: 0.1, standardDeviation: 1 }]);
});

Deno.test("rounding errors of a constant channel are not amplified, whatever its scale", () => {
  for (const constant of [0.3, -7, 1e6 / 3, 1e30 / 3, 1e-30]) {
    const one = series(Array.from({ length: 30 }, (_, i) => [constant * (1 + (i % 3) * Number.EPSILON)]));
    for (const scaling of ["standard", "robust", "range"] as const) {
      const [{ values }] = normalise([one], channelStatistics([one], 1, scaling));
      assert.ok(values.every((value) => Math.abs(value) < 1e-5), `${scaling} of ${constant}: ${values[1]}`);
    }
  }
  const mostly = series(
    Array.from({ length: 99 }, (_, i) => [i < 9 ? 5 : 0.3 * (1 + (i % 2) * Number.EPSILON)]),
  );
  assert.ok(channelStatistics([mostly], 1, "robust")[0].standardDeviation > 0.1);
});

Deno.test("channels of every scale have standard deviation 1 after scaling", () => {
  for (const unit of [1e-300, 1e-30, 1e-3, 1, 1e30, 1e300]) {
    const one = series(Array.from({ length: 50 }, (_, i) => [unit * (3 + i % 7)]));
    const [{ standardDeviation }] = channelStatistics(normalise([one], channelStatistics([one], 1)), 1);
    assert.ok(Math.abs(standardDeviation - 1) < 1e-12, `${unit}: ${standardDeviation}`);
  }
});

Deno.test("stacked series have time as first channel, keep missing values and repeat their last row", () => {
  const one = series([[NaN, 1], [10, NaN], [NaN, NaN], [40, NaN]], 1, [5, 6, 7, 9]);
  const { values, shape, lengths, labels } = stackSeries([one], 2, 6, 0.5);
  assert.deepEqual(shape, [1, 6, 3]);
  const row = (t: number) => [...values.subarray(3 * t, 3 * t + 3)];
  assert.deepEqual([0, 1, 2, 3].map(row), [[0, NaN, 1], [0.5, 10, NaN], [1, NaN, NaN], [2, 40, NaN]]);
  assert.deepEqual([4, 5].map(row), [[2, 40, 1], [2, 40, 1]]);
  assert.deepEqual([[...lengths], [...labels]], [[4], [1]]);
});

Deno.test("a channel without values has no values after the end", () => {
  const { values } = stackSeries([series([[NaN], [NaN]])], 1, 3);
  assert.deepEqual([...values], [0, NaN, 1, NaN, 1, NaN]);
});

Deno.test("a value beyond float32 is rejected with its series", () => {
  assert.throws(() => stackSeries([series([[1], [1e39]])], 1, 2), /series "one", observation 2: .* float32/);
});

Deno.test("robust scaling is not affected by an outlier", () => {
  const values = Array.from({ length: 101 }, (_, i) => [i === 100 ? 1e9 : i]);
  const [{ mean, standardDeviation }] = channelStatistics([series(values)], 1, "robust");
  assert.deepEqual([mean, standardDeviation], [50, 50 / 1.349]);
  assert.deepEqual(channelStatistics([series([[2], [2], [2]])], 1, "robust"), [{
    mean: 2,
    standardDeviation: 1,
  }]);
});
