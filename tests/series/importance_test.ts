import assert from "node:assert/strict";
import { evaluateForecasts } from "../../src/series/targets/evaluate_forecasts.ts";
import { channelImportance } from "../../src/series/targets/importance.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";

Deno.test("the importance of a channel is the error without it, and 0 for a channel that is not read", async () => {
  const channel = { mean: 0, standardDeviation: 1 };
  const record = {
    channels: [{ ...channel, name: "x" }, { ...channel, name: "y" }, {
      ...channel,
      name: "z",
      role: "known",
    }],
    windows: { context: 2, horizon: 1, gap: 1, season: 1, seasonalErrors: [1, 1, 1] },
  } as unknown as DataRecord;
  const windows = Array.from({ length: 9 }, (_, i) => {
    const grid = Float64Array.of(i, 7 * i % 9, 0, i, 7 * i % 9, 0);
    const past = { name: "a", times: Float64Array.of(0, 1), values: grid, label: -1 };
    // Twice the last y, plus the known future value.
    return {
      ...{ series: "a", past, origin: 1, grid, observed: 2, at: Float64Array.of(1) },
      targets: Float64Array.of(2 * grid[4] + i % 3, NaN, i % 3),
    };
  });
  const { measures, sections } = await evaluateForecasts({
    windows,
    record,
    forecast: (samples) =>
      Promise.resolve(samples.map(({ grid, targets }) => {
        const mean = [2 * grid[4] + targets[2]];
        return Array.from({ length: 3 }, () => ({ mean, quantiles: Array.from({ length: 9 }, () => mean) }));
      })),
  });
  assert.equal(measures.mse, 0);
  const section = (await sections()).at(-1)!;
  assert.ok(section.kind === "charts");
  const [{ y, marks: [bars] }] = section.charts[0].panels;
  assert.ok(bars.kind === "bars");
  const importance = Object.fromEntries(y.categories!.map((name, i) => [name, bars.values[i]]));
  assert.equal(importance.x, 0);
  assert.ok(importance.y > importance.z && importance.z > 0, JSON.stringify(importance));
});

Deno.test("of many series, 128 at equal distances are exchanged with each other", async () => {
  const series = Array.from({ length: 1280 }, (_, i) => [i, 0]);
  const counts: number[] = [];
  const importance = await channelImportance(
    series,
    ["read", "ignored"],
    NaN,
    (one, other, channel) => one.with(channel, other[channel]),
    (changed, indices) => {
      counts.push(changed.length);
      return Promise.resolve(indices.reduce((sum, index, i) => sum + (changed[i][0] - index) ** 2, 0));
    },
  );
  assert.deepEqual(counts, [128, 128, 128]);
  assert.equal(importance!.ignored, 0);
  // The mean squared difference of two of 1,280 numbers is about 1280 ** 2 / 6.
  assert.ok(Math.abs(importance!.read / 128 / (1280 ** 2 / 6) - 1) < 0.2, `${importance!.read}`);
});
