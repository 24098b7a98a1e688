import assert from "node:assert/strict";
import { dateTicks } from "../../src/charts/dates.ts";
import { type Axis, extent, scaleOf } from "../../src/charts/scale.ts";
import { key, uniform } from "../../src/tensor/random.ts";

const axis: Axis = { title: "value" };

/** Random ranges over many orders of magnitude, around zero and away from it. */
async function ranges(count: number): Promise<[low: number, high: number][]> {
  const drawn = await uniform(key(5), [count, 3], { dtype: "float64" }).data();
  return Array.from({ length: count }, (_, i) => {
    const [at, size, shift] = drawn.subarray(3 * i, 3 * i + 3);
    const span = 10 ** (20 * size - 10);
    const low = (at - 0.5) * span * (shift < 0.5 ? 1 : 1000);
    return [low, low + span];
  });
}

Deno.test("ticks are evenly spaced round numbers within the limit, and the axis holds the data", async () => {
  for (const [low, high] of await ranges(500)) {
    for (const most of [3, 5, 8]) {
      for (const isTight of [false, true]) {
        const { ticks, range, place } = scaleOf(axis, [low, high], most, isTight);
        const values = ticks.map(({ value }) => value);
        const what = `${low} to ${high}, ${most}: ${values}`;
        assert.ok(values.length <= most && values.length >= (isTight ? 1 : 2), what);
        const step = values[1] - values[0];
        if (values.length > 1) {
          assert.ok(
            [1, 2, 5].some((digit) => Math.abs(step / Number(`${digit}e${power(step)}`) - 1) < 1e-6),
            what,
          );
        }
        for (let i = 2; i < values.length; i++) {
          assert.ok(Math.abs((values[i] - values[i - 1]) / step - 1) < 1e-6, what);
        }
        const slack = 1e-9 * (high - low);
        assert.ok(range[0] <= low + slack && range[1] >= high - slack, what);
        assert.ok(place(low) >= -1e-9 && place(high) <= 1 + 1e-9 && place(low) < place(high), what);
      }
    }
  }
});

/** Power of ten of the first digit of a step. */
function power(step: number): number {
  return Math.floor(Math.log10(step) + 1e-9);
}

Deno.test("labels of different ticks differ and have the digits of the step", () => {
  const labels = (low: number, high: number, options: Partial<Axis> = {}) =>
    scaleOf({ ...axis, ...options }, [low, high], 6).ticks.map(({ label }) => label);
  assert.deepEqual(labels(0, 0.1), ["0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]);
  assert.deepEqual(labels(10_000, 14_000), ["10,000", "11,000", "12,000", "13,000", "14,000"]);
  assert.deepEqual(labels(0.4, 1, { isPercent: true }), ["40 %", "60 %", "80 %", "100 %"]);
  assert.deepEqual(labels(1, 3, { isWhole: true }), ["1", "2", "3"]);
});

Deno.test("categories are placed in equal rows, the first at the top", () => {
  const { ticks, place } = scaleOf({ ...axis, categories: ["u", "v"] }, [0, 1], 5);
  assert.deepEqual(ticks.map(({ value, label }) => [label, place(value)]), [["u", 0.75], ["v", 0.25]]);
});

Deno.test("a range of one value, and one without values, have a scale", () => {
  for (const range of [[3, 3], [0, 0], [-2, -2], extent([]), extent([NaN])] as [number, number][]) {
    for (const scale of ["linear", "log", "auto", "date"] as const) {
      const { ticks, place } = scaleOf({ ...axis, scale }, range, 4);
      assert.ok(ticks.length >= 1 && Number.isFinite(place(range[0])), `${scale} ${range}`);
    }
  }
});

Deno.test("an automatic scale is logarithmic for positive values over orders of magnitude", () => {
  const isLogarithmic = (low: number, high: number) =>
    scaleOf({ ...axis, scale: "auto" }, [low, high], 6).isLogarithmic;
  assert.deepEqual([isLogarithmic(0.01, 1), isLogarithmic(0.5, 1), isLogarithmic(0, 1)], [
    true,
    false,
    false,
  ]);
  const { ticks, place } = scaleOf({ ...axis, scale: "log" }, [0.001, 1000], 8);
  assert.deepEqual(ticks.map(({ value }) => value), [0.001, 0.01, 0.1, 1, 10, 100, 1000]);
  assert.ok(Math.abs(place(0.1) - place(0.01) - (place(100) - place(10))) < 1e-12);
});

Deno.test("ticks of dates are round dates inside the range, for spans from seconds to centuries", () => {
  const start = Date.UTC(2024, 1, 27, 13, 7, 21) / 1000;
  for (const span of [5, 100, 5000, 86_400, 1e6, 1e7, 1e8, 1e9, 5e9]) {
    for (const most of [3, 6]) {
      const ticks = dateTicks(start, start + span, most);
      assert.ok(ticks.length >= 1 && ticks.length <= most + 1, `${span}: ${ticks.length}`);
      assert.ok(ticks.every(({ value }) => value >= start && value <= start + span));
      assert.equal(new Set(ticks.map(({ label }) => label)).size, ticks.length, JSON.stringify(ticks));
    }
  }
  const months = dateTicks(Date.UTC(1949, 0) / 1000, Date.UTC(1951, 0) / 1000, 6);
  const expected = ["Jan 1949", "Jul 1949", "Jan 1950", "Jul 1950", "Jan 1951"];
  assert.deepEqual(months.map(({ label }) => label), expected);
  const inMonths = scaleOf({ title: "time", scale: "month" }, [-252, -228], 6);
  assert.deepEqual(inMonths.ticks.map(({ label }) => label), expected);
});

Deno.test("the axis of a constant fraction is from 0 to 1", () => {
  assert.deepEqual(scaleOf({ title: "AUC" }, [1, 1], 5).range, [0, 1]);
  assert.deepEqual(scaleOf({ title: "loss" }, [4, 4], 5).range, [2, 6]);
});
