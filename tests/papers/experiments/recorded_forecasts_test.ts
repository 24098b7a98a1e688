/** Data records of runs that forecast series. */
import type { Task } from "../../../src/train/task.ts";
import { type DataRecord, recordVersion } from "../../../src/series/record/data_record.ts";
import assert from "node:assert/strict";
import { init, key, type Tensor, type Tree } from "../../../mod.ts";
import { ettExperiments } from "../../../tasks/papers/experiments/ett.ts";
import { mnistCompletion } from "../../../tasks/papers/experiments/digit_completion.ts";
import { writeDigits } from "../data/digit_files.ts";
import { testLong } from "../../devices.ts";
import { withFolder } from "../../tasks/command_line.ts";

const [etth1] = ettExperiments;
const settings = { seed: 0, epochs: 1, batchSize: 8, learningRate: 0.01, hidden: 1, model: "gru" };

async function write(path: string, rows: readonly (readonly string[])[]): Promise<string> {
  await Deno.writeTextFile(path, `${rows.map((fields) => fields.join(",")).join("\n")}\n`);
  return path;
}

/** Hourly rows of two channels, in the format of the electricity transformer data. */
function hours(count: number, add = 0): string[][] {
  const start = Date.UTC(2016, 6, 1);
  const rows = Array.from({ length: count }, (_, hour) => [
    new Date(start + hour * 3_600_000).toISOString().slice(0, 19).replace("T", " "),
    `${Math.sin(hour / 4) + add}`,
    `${10 * Math.cos(hour / 9) + add}`,
  ]);
  return [["date", "load", "oil"], ...rows];
}

testLong(
  "a forecasting run records scaling and months and uses them to evaluate other series",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    const path = await write(`${folder}/own.csv`, hours(14400));
    const config = { ...settings, data: path };
    const { record, data }: { record?: DataRecord; data: Task["data"] } = await etth1.prepare(config);
    assert.deepEqual(record!.channels.map(({ name }) => name), ["load", "oil"]);
    assert.equal(record!.version, recordVersion);
    // Runs of earlier versions of Weft keep their record.
    assert.equal((await etth1.prepare(config, { ...record!, version: 1 })).record!.version, 1);
    assert.deepEqual(
      Object.values(record!.split).flat().map(({ name }) => name),
      ["rows 1 to 8640", "rows 8641 to 11520", "rows 11521 to 14400"],
    );
    const again = await etth1.prepare(config, record);
    const [test, same] = [data.test, again.data.test] as { x: Tensor }[];
    assert.deepEqual(await test.x.data(), await same.x.data());

    const model = await etth1.open!(config, record!);
    const samples = async (rows: string[][]) => await model.samples(await write(`${folder}/new.csv`, rows));
    const shifted = await samples(hours(192, 5));
    const [mean, deviation] = [record!.channels[0].mean, record!.channels[0].standardDeviation];
    assert.deepEqual([shifted.count, shifted.seen], [1, 0]);
    const first = await (shifted.batches[0] as { x: Tensor }).x.data();
    assert.ok(
      Math.abs(first[0] * deviation + mean - 5) < 1e-4,
      "in standard deviations of the training months",
    );
    assert.equal((await samples(hours(14400))).seen, 353);
    await assert.rejects(() => samples(hours(191)), /new\.csv: 191 rows, expected 192 at least/);
    await assert.rejects(
      () => samples(hours(400).filter((_, i) => i === 0 || i % 2 === 1)),
      /rows 7200 s apart, expected 3600 s/,
    );
    const other = hours(14400).map((fields, i) => i === 5 ? fields.with(1, "3") : fields);
    await write(path, other);
    await assert.rejects(
      async () => await etth1.prepare(config, record),
      /1 series changed \("rows 1 to 8640"\)/,
    );
  }),
);

testLong(
  "an electricity experiment feeds means instead of samples with noSampling, in training too",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    const path = await write(`${folder}/own.csv`, hours(14400));
    const lossesOf = async (chosen: object) => {
      const task = await etth1.prepare({ ...settings, data: path, ...chosen });
      const { train, test } = task.data as { train: Tree; test: Tree };
      return [await task.evaluate(train, key(1)).loss.item(), await task.evaluate(test).loss.item()];
    };
    const [sampled, smooth, means] = [
      await lossesOf({}),
      await lossesOf({ smooth: true }),
      await lossesOf({ noSampling: true }),
    ];
    assert.equal(sampled[0], smooth[0]);
    assert.notEqual(means[0], sampled[0]);
    assert.equal(means[1], smooth[1]);
    assert.notEqual(means[1], sampled[1]);
  }),
);

testLong(
  "a run on digits records its training images and rejects others",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    const [count, size] = [5600, 28 * 28];
    const images = await writeDigits(folder, "t10k", count);
    const config = { ...settings, data: folder, fromTestImages: true };
    const { record } = await mnistCompletion.prepare(config);
    const { train, validation, test } = record!.split;
    assert.deepEqual([train.length, validation.length, test.length], [4000, 500, 1000]);
    await mnistCompletion.prepare(config, record);
    const { count: all, seen } = await (await mnistCompletion.open!(config, record!)).samples(folder);
    assert.deepEqual([all, seen], [count, 4000]);
    const changed = train[7];
    images[16 + changed.position * size + 100] = 9;
    await Deno.writeFile(`${folder}/t10k-images-idx3-ubyte`, images);
    await assert.rejects(
      async () => await mnistCompletion.prepare(config, record),
      new RegExp(`1 series changed \\("${changed.name}"\\)`),
    );
  }),
);
