/** Means of blocks of rows, and how models of long series choose, record and stream them. */
import assert from "node:assert/strict";
import { isBatchSource } from "../../src/data/batches.ts";
import type { Series } from "../../src/data/series.ts";
import { describeRows, downsample, downsamplingOf, rowsPerStep } from "../../src/series/models/downsample.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { ClassPrediction, PredictionStreamState } from "../../src/series/record/predictions.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { samplesOf, seriesNetwork } from "../../src/series/models/series_network.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { tensor } from "../../src/tensor/creation.ts";
import { key } from "../../src/tensor/random.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { configOf } from "../../src/train/run/config.ts";
import { execute, type TrainedRun } from "../../src/train/mod.ts";
import { experimentNamed, openTrained, readRunConfig, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** A series of two channels. */
function seriesOf(rows: readonly (readonly number[])[]): Series {
  return {
    name: "a",
    times: Float64Array.from(rows, ([time]) => time),
    values: Float64Array.from(rows.flatMap(([_, ...values]) => values)),
    label: 0,
  };
}

const rows = [[0, 1, 10], [1, 2, NaN], [3, NaN, NaN], [4, NaN, NaN], [5, NaN, NaN], [9, NaN, 7], [10, 8, 9]];

Deno.test("a block has the mean of its times and of its known values, and the last block may be shorter", () => {
  const { times, values } = downsample(seriesOf(rows), 2, 3);
  assert.deepEqual([...times], [4 / 3, 6, 10]);
  assert.deepEqual([...values], [1.5, 10, NaN, 7, 8, 9]);
  const one = seriesOf(rows);
  assert.equal(downsample(one, 2, 1), one);
});

Deno.test("blocks do not depend on later rows, and times of dates are not rounded", () => {
  const dates = rows.map(([time, ...values]) => [1.7e9 + time / 8, ...values]);
  const whole = downsample(seriesOf(dates), 2, 2);
  const part = downsample(seriesOf(dates.slice(0, 4)), 2, 2);
  assert.deepEqual([...part.times], [...whole.times.subarray(0, 2)]);
  assert.deepEqual([...part.values], [...whole.values.subarray(0, 4)]);
  assert.deepEqual([...part.times], [1.7e9 + 1 / 16, 1.7e9 + 7 / 16]);
});

Deno.test("the number of rows of a step depends on the median and the longest length", () => {
  assert.deepEqual([[512], [513], [17984], [100, 100, 2048]].map((all) => rowsPerStep(all)), [1, 2, 36, 1]);
  assert.equal(rowsPerStep([100, 100, 20480]), 10, "2,048 steps for the longest series");
  assert.deepEqual([[512], [17984]].map((all) => rowsPerStep(all, 256)), [1, 71]);
});

Deno.test("models along windows choose longer windows, other models means, and options override both", () => {
  const long = [{ times: new Float64Array(17984) }];
  const { s5, "neural-rde": rde } = neuralModels;
  assert.deepEqual(downsamplingOf(s5, {}, long), { by: "means", rows: 36 });
  assert.deepEqual(downsamplingOf(rde, {}, long), { by: "log-signatures", rows: 36 });
  assert.equal(downsamplingOf(s5, { condense: 1 }, long), undefined);
  assert.equal(downsamplingOf(rde, { window: 128 }, long), undefined);
  assert.equal(downsamplingOf(rde, {}, [{ times: new Float64Array(2048) }]), undefined, "windows of 4 rows");
  assert.match(
    describeRows({ by: "means", rows: 36 }, long)!,
    /^rows are averaged in blocks of 36, from 17984 to 500 steps; changes within 36 rows are lost$/,
  );
});

/** A table of slow waves with missing values. The frequency is the label. */
function table(count: number, length: number): string {
  const rows = Array.from(
    { length: count },
    (_, i) =>
      Array.from(
        { length },
        (_, t) =>
          `s${i},${t},${t % 7 === 4 ? "" : Math.sin(t * (i % 2 ? 0.3 : 0.1) + i).toFixed(4)},${
            i % 2 ? "a" : "b"
          }`,
      ),
  );
  return ["series,time,x,label", ...rows.flat()].join("\n");
}

/** Trains on a table for an epoch. */
async function trained(folder: string, options: Record<string, unknown>): Promise<TrainedRun<TrainedModel>> {
  await Deno.writeTextFile(`${folder}/own.csv`, table(12, 40));
  const config = configOf(experimentNamed("own-series"), {
    ...{ data: `${folder}/own.csv`, device: "cpu", epochs: 1, hidden: 4, ...options },
  });
  const run = await startRun(config, `${folder}/runs`);
  await execute(run);
  return await openTrained(await readRunConfig(run.folder), run.folder);
}

for (const model of ["neural-cde", "s5"]) {
  testLong(
    `predictions of ${model} from blocks are bitwise equal alone and in a table, and its stream predicts each prefix`,
    withFolder(async (folder) => {
      const { model: trainedModel, record } = await trained(folder, { model, online: true, condense: 3 });
      assert.deepEqual((record as DataRecord).condensing, { by: "means", rows: 3 });
      const set = await trainedModel.series!(`${folder}/own.csv`);
      const ofTable = await trainedModel.predict!(set);
      const ofSeries = await Promise.all(
        set.series.map((one) => trainedModel.predict!({ ...set, series: [one] })),
      );
      assert.deepEqual(ofTable, ofSeries.flat());

      const [{ name, times, values }] = set.series;
      let state: PredictionStreamState | undefined;
      for (let i = 0; i < 8; i++) {
        // A stream is stored after each row, also within a block.
        const stream = trainedModel.stream!(name, state);
        const streamed = await stream.push(times[i], values.subarray(i, i + 1)) as ClassPrediction;
        state = JSON.parse(JSON.stringify(await stream.save()));
        const prefix = { name, label: -1, times: times.slice(0, i + 1), values: values.slice(0, i + 1) };
        const [whole] = await trainedModel.predict!({ ...set, series: [prefix] }) as ClassPrediction[];
        assert.ok(Math.abs(streamed.probabilities.a - whole.probabilities.a) < 1e-6, `row ${i}`);
      }
      const damaged = { ...state!, block: { rows: 3, first: 0, since: 0, sums: [0], counts: [0] } };
      assert.throws(
        () => trainedModel.stream!(name, damaged as PredictionStreamState),
        /not a saved state of this model/,
      );
    }),
  );
}

Deno.test("series whose inputs take more than 256 MiB are converted batch by batch", () => {
  const series = Array.from({ length: 5 }, (_, label) => ({ ...seriesOf(rows), label }));
  const toBatch = (some: readonly Series[]) => tensor(some.map(({ label }) => label));
  assert.ok(!isBatchSource(samplesOf(series, toBatch, { bytesOf: () => 2 ** 25 })));
  const source = samplesOf(series, toBatch, { bytesOf: () => 2 ** 26 });
  assert.ok(isBatchSource(source));
  assert.equal(source.count, 5);
  assert.equal(`${source.batch([3, 1])}`, `${tensor([3, 1])}`);
});

testLong("series that are converted in several parts have the inputs of each series alone", async () => {
  const length = 120_000;
  const series = Array.from({ length: 40 }, (_, i): Series => ({
    ...{ name: `${i}`, label: 0, times: Float64Array.from({ length }, (_, t) => t) },
    values: Float64Array.from({ length }, (_, t) => Math.sin(t * (i + 1) / 1000)),
  }));
  const record: DataRecord = {
    ...{ version: 2, classes: [], split: { train: [], validation: [], test: [] }, ignored: [], length },
    channels: [{ name: "x", kind: "number", mean: 0, standardDeviation: 1 }],
    time: { kind: "number", origin: "first observation of each series", scale: 1e-4 },
    condensing: { by: "log-signatures", rows: 2000 },
  };
  const settings = settingsOf(ownSeries, { model: "neural-rde" }) as unknown as SeriesSettings;
  await neuralModels["neural-rde"].load!();
  const network = seriesNetwork({ record, settings, key: key(0), width: 4, depth: 1 }, 2);
  const { coeffs, lengths } = network.inputs(series);
  assert.deepEqual(coeffs.shape, [40, 61, 3]);
  assert.deepEqual([...await lengths.data()], series.map(() => 61));
  for (const i of [0, 33, 34, 39]) {
    const alone = network.inputs([series[i]]).coeffs;
    assert.deepEqual(await coeffs.slice(0, i, i + 1).data(), await alone.data(), `series ${i}`);
  }
});
