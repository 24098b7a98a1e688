import assert from "node:assert/strict";
import type { Series } from "../../src/data/series.ts";
import { classifier } from "../../src/series/targets/classifier.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { regressor } from "../../src/series/targets/regressor.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { downsample, downsamplingOf } from "../../src/series/models/downsample.ts";
import { paceFor, typicalDuration } from "../../src/series/models/slope_scale.ts";
import { typicalSpan } from "../../src/series/read/spans.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import { loadKind } from "../../src/series/models/model_settings.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { key, normal } from "../../src/tensor/random.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { testLong } from "../devices.ts";

/** Maximum first loss, in units of the loss of guessing. */
const mostLoss = 1.5;

/** Scaled channel of all tests. */
const channel = { kind: "number", mean: 0, standardDeviation: 1 } as const;

/** Series of independent normal values: the roughest series of unit variance. */
async function noise(count: number, length: number): Promise<Series[]> {
  const values = await normal(key(0), [count, 2 * length]).data();
  return Array.from({ length: count }, (_, i) => ({
    name: `${i}`,
    times: Float64Array.from({ length }, (_, t) => 10 * t),
    values: Float64Array.from(values.subarray(2 * length * i, 2 * length * (i + 1))),
    label: i % 3,
    targets: Float64Array.of(i % 2 ? 1 : -1),
  }));
}

/**
 * Losses of an untrained model on series, in units of the loss of guessing: of classes and of numbers.
 *
 * @param isDownsampled Whether long series are downsampled.
 */
async function firstLosses(
  model: string,
  series: readonly Series[],
  isDownsampled: boolean,
): Promise<number[]> {
  const settings = settingsOf(ownSeries, { model }) as unknown as SeriesSettings;
  const kind = await loadKind(neuralModels, model);
  const condensing = isDownsampled ? downsamplingOf(kind, settings, series) : undefined;
  const rows = condensing?.by === "means" ? condensing.rows : 1;
  const channels = ["x", "y"].map((name) => ({ ...channel, standardDeviation: rows ** -0.5, name }));
  const length = series[0].times.length;
  const time = {
    ...{ kind: "number", origin: "first observation of each series" } as const,
    scale: typicalDuration / typicalSpan(series),
  };
  const downsampled = series.map((one) => downsample(one, channels.length, rows));
  const record: DataRecord = {
    ...{ version: 2, split: { train: [], validation: [], test: [] }, ignored: [], channels, length, time },
    condensing,
    pace: await paceFor(kind, downsampled, { channels, time, condensing }, settings),
    classes: ["a", "b", "c"],
    targets: [{ name: "n", mean: 0, standardDeviation: 1 }],
  };
  const options = { record, settings, key: key(1), width: 32, depth: 1, method: "midpoint" } as const;
  const [classes, numbers] = [classifier(options), regressor(options)];
  const losses = [
    classes.evaluate(classes.toBatch(series)).loss,
    numbers.evaluate(numbers.toBatch(series)).loss,
  ];
  return [(await losses[0].item()) / Math.log(3), await losses[1].item()];
}

for (const model of Object.keys(neuralModels)) {
  const check = async (length: number, isDownsampled = false) => {
    const losses = await firstLosses(model, await noise(12, length), isDownsampled);
    assert.ok(losses.every((loss) => loss < mostLoss), `${losses}`);
  };
  Deno.test(`the first loss of ${model} is about the loss of guessing on 20 rows`, () => check(20));
  testLong(`the first loss of ${model} is about the loss of guessing on 1,000 rows`, () => check(1000));
  testLong(
    `the first loss of ${model} is about the loss of guessing on 2,000 rows, condensed`,
    () => check(2000, true),
  );
}
