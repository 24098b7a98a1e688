import assert from "node:assert/strict";
import type { Series, SeriesSet } from "../../src/data/series.ts";
import { classifier } from "../../src/series/targets/classifier.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import { paceOf } from "../../src/series/models/slope_scale.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { gridOf, onGrid, recordClock } from "../../src/series/read/time_grid.ts";
import { key } from "../../src/tensor/random.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import "../devices.ts";

const seriesAt = (times: readonly number[], values: readonly number[] = times): Series => ({
  ...{ name: "s", label: 0, times: Float64Array.from(times), values: Float64Array.from(values) },
});
const setOf = (series: readonly Series[], times: SeriesSet["times"] = "number"): SeriesSet => ({
  ...{ name: "t", channels: ["x"], classes: ["a", "b"], series, times },
});

/** Class scores of an untrained Neural CDE. */
async function scoresOf(time: DataRecord["time"], series: Series): Promise<ArrayLike<number>> {
  const channels = [{ kind: "number", name: "x", mean: 0, standardDeviation: 1 } as const];
  const record: DataRecord = {
    ...{ version: 2, split: { train: [], validation: [], test: [] }, ignored: [], channels, time, length: 6 },
    ...{ classes: ["a", "b"], pace: paceOf([series], channels) },
  };
  const settings = settingsOf(ownSeries, { model: "neural-cde" }) as unknown as SeriesSettings;
  await neuralModels["neural-cde"].load!();
  const model = classifier({ record, settings, key: key(0), width: 8, depth: 1, method: "midpoint" });
  return (await model.classScores([series]))[0];
}

Deno.test("a series is predicted alike whether its rows are absent or have empty fields", async () => {
  const absent = seriesAt([1, 4, 5], [2, -1, 3]);
  const empty = seriesAt([0, 1, 2, 3, 4, 5], [NaN, 2, NaN, NaN, -1, 3]);
  const time = recordClock(setOf([seriesAt([0, 1, 2, 3, 4, 5]), absent]), 1);
  assert.deepEqual([time.origin, time.grid], ["zero", { start: 0, gap: 1 }]);
  assert.deepEqual(await scoresOf(time, absent), await scoresOf(time, empty));
  const { grid: _, ...offGrid } = time;
  assert.notDeepEqual(await scoresOf(offGrid, absent), await scoresOf(offGrid, empty));
});

Deno.test("series that start at different dates have different grids and origins", () => {
  const days = setOf([seriesAt([1e9, 1e9 + 86400]), seriesAt([2e9 + 7, 2e9 + 7 + 3 * 86400])], "date");
  const { origin, grid } = recordClock(days, 1);
  assert.deepEqual([origin, grid], ["first observation of each series", { gap: 86400 }]);
  assert.equal(recordClock(setOf([seriesAt([0, 1, 2]), seriesAt([40, 41, 42])]), 1).origin, origin);
});

Deno.test("times that are not on a grid, or on a grid far longer than the series, add no rows", () => {
  assert.equal(gridOf([seriesAt([0, 1, 2.4])], "zero"), undefined);
  assert.equal(gridOf([seriesAt([0, 1, 100])], "zero"), undefined);
  const grid = gridOf([seriesAt([0, 1, 2, 3])], "zero");
  for (const times of [[0, 1.5, 2], [0, 1, 400]]) {
    const series = seriesAt(times);
    assert.equal(onGrid(series, grid, 4), series);
  }
  assert.deepEqual([...onGrid(seriesAt([0, 2]), grid, 4).values], [0, NaN, 2]);
});
