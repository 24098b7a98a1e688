/** The comparison of forecasting models within a time limit. */
import assert from "node:assert/strict";
import { compareForecasts, type ForecastTask } from "../../src/series/choose/compare_forecasts.ts";
import { isIrregular } from "../../src/series/read/spans.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { DataError, OptionError } from "../../src/device/errors.ts";
import { NonFiniteLossError } from "../../src/train/loop.ts";
import { Adam } from "../../src/optim/adam.ts";
import { ones } from "../../src/tensor/creation.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { configOf } from "../../src/train/run/config.ts";
import { startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { execute } from "../../src/train/mod.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { testLong } from "../devices.ts";

const settings = { batchSize: 4, seed: 0, epochs: 1e6, budget: "2s" } as unknown as SeriesSettings;

/** A task with 8 training samples and one parameter, whose MASE is the given number. */
function taskWith(mase: number, parts: Partial<ForecastTask>): ForecastTask {
  const data = { train: ones([8]), test: ones([8]) };
  const parameters = { w: ones([]) };
  return {
    parameters,
    data,
    metric: { name: "loss", mode: "min" },
    evaluate: (x: Tensor) => ({ loss: x.mul(parameters.w).square().mean() }),
    ...{ scoreValidation: () => Promise.resolve({ mase }), ...parts },
  } as unknown as ForecastTask;
}

const closed = (mase: number) => taskWith(mase, { fit: () => Promise.resolve() });

function trained(mase: number): ForecastTask {
  const task = taskWith(mase, {});
  return { ...task, optimizer: Adam(task.parameters, { learningRate: 0.01 }) };
}

Deno.test("a training that exceeds the time limit has fewer epochs, and its error counts", async () => {
  const lines: string[] = [];
  const epochs: (number | undefined)[] = [];
  const found = await compareForecasts(
    settings,
    [{ model: "linear" }, { model: "neural-cde" }],
    (candidateSettings) => {
      if (candidateSettings.model === "linear") return Promise.resolve(closed(0.8));
      epochs.push(candidateSettings.epochs);
      return Promise.resolve(trained(0.7));
    },
    { onLine: (line) => lines.push(line) },
  );
  assert.equal(found!.chosen!.model, "neural-cde");
  const { measures, steps } = found!.compared![1];
  assert.deepEqual(measures, { mase: 0.7 });
  const shortened = epochs[1]!;
  assert.ok(shortened >= 1 && shortened < 1e6, `${shortened} epochs`);
  // Two steps per epoch. The time limit may still end the training early.
  assert.ok(steps! >= 2 && steps! <= 2 * shortened, `${steps} steps`);
  assert.equal(lines[2], `  neural-cde: trains for ${shortened} of 1000000 epochs to keep the time limit`);
});

Deno.test("a training within the time limit is as long as the training of the chosen model", async () => {
  const found = await compareForecasts(
    { ...settings, epochs: 20, budget: "10m" },
    [{ model: "linear" }, { model: "neural-cde" }],
    (candidateSettings) => Promise.resolve(candidateSettings.model === "linear" ? closed(0.6) : trained(0.7)),
    {},
  );
  assert.equal(found!.chosen!.model, "linear");
  assert.deepEqual(found!.compared![1].measures, { mase: 0.7 });
  assert.equal(found!.compared![1].steps, undefined);
});

Deno.test("series are irregular if most of their gaps differ from the typical gap", () => {
  const withTimes = (...times: number[][]) =>
    ({
      series: times.map((seriesTimes) => ({
        name: "s",
        times: Float64Array.from(seriesTimes),
        values: new Float64Array(),
      })),
    }) as unknown as Parameters<typeof isIrregular>[0];
  assert.equal(isIrregular(withTimes([0, 1, 2, 3, 4, 5])), false);
  // Rows on business days, and absent rows.
  assert.equal(isIrregular(withTimes([0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 14])), false);
  assert.equal(isIrregular(withTimes([0, 1, 3, 4, 5, 8, 9])), false);
  assert.equal(isIrregular(withTimes([0, 0.2, 1.9, 2.5, 2.6, 5, 5.9])), true);
  assert.equal(isIrregular(withTimes([0], [])), false);
});

/** Values of a sine at irregular times. */
function irregularRows(count: number): string {
  let time = 0;
  const rows = Array.from({ length: count }, (_, i) => {
    time += 0.2 + (i * i * 0.37) % 1.6;
    return `${time.toFixed(4)},${Math.sin(time / 2).toFixed(4)}`;
  });
  return ["time,x", ...rows].join("\n");
}

testLong(
  "auto trains the Neural CDE before exponential smoothing on irregular series",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/waves.csv`, irregularRows(60));
    const settings = configOf(ownSeries, {
      ...{ device: "cpu", data: `${folder}/waves.csv`, task: "forecast", horizon: 4, budget: "5m" },
    });
    const run = await startRun(settings, folder);
    await execute(run);
    const { training }: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    assert.deepEqual(training!.compared!.map(({ model }) => model), [
      "seasonal-naive",
      "linear",
      "boosted-trees",
      "neural-cde",
      "exponential-smoothing",
      "autoregression",
    ]);
  }),
);

/** A task whose training fails with an error. */
const failing = (error: Error) => taskWith(0, { fit: () => Promise.reject(error) });

const failures: Readonly<Record<string, { error: Error; reason: RegExp }>> = {
  "cannot use an option": {
    error: new OptionError("unusable-option", "m uses no known values", { fixes: ["choose another model"] }),
    reason: /^left out: m uses no known values$/,
  },
  "cannot read the data": {
    error: new DataError("too-small", "the series are too short"),
    reason: /^left out: the series are too short$/,
  },
  "diverges": {
    error: new NonFiniteLossError(1, 2, NaN, "the loss"),
    reason: /^diverged: the loss is NaN in/,
  },
};

for (const [what, { error, reason }] of Object.entries(failures)) {
  const compare = (taskOf: (model: string) => ForecastTask, lines: string[] = []) =>
    compareForecasts(
      { ...settings, budget: "1m" },
      [{ model: "linear" }, { model: "second" }],
      ({ model }) => Promise.resolve(taskOf(model!)),
      { onLine: (line) => lines.push(line) },
    );

  Deno.test(`a candidate that ${what} is left out with the reason, and is not late`, async () => {
    const lines: string[] = [];
    for (const bad of ["linear", "second"]) {
      const found = await compare((model) => model === bad ? failing(error) : closed(0.8), lines);
      assert.notEqual(found!.chosen!.model, bad);
      const entry = found!.compared!.find(({ model }) => model === bad)!;
      assert.match(entry.reason!, reason);
      assert.ok(lines.some((line) => line.startsWith(`  ${bad}: ${entry.reason}, `)), lines.join("\n"));
    }
  });

  Deno.test(`a comparison whose only result is a candidate that ${what} ends with its error`, async () => {
    await assert.rejects(compare(() => failing(error)), error);
  });
}

Deno.test("a defect of a candidate ends the comparison", async () => {
  const defect = new TypeError("undefined is not a function");
  const found = compareForecasts(
    settings,
    [{ model: "linear" }, { model: "second" }],
    ({ model }) => Promise.resolve(model === "linear" ? closed(0.8) : failing(defect)),
    {},
  );
  await assert.rejects(found, defect);
});

Deno.test("candidates after the time limit say that they were not started", async () => {
  const late = taskWith(0.8, { fit: () => new Promise((resolve) => setTimeout(resolve, 60)) });
  const found = await compareForecasts(
    { ...settings, budget: "0.05s" },
    [{ model: "linear" }, { model: "second" }],
    () => Promise.resolve(late),
    {},
  );
  assert.equal(found!.compared![1].reason, "not started: the time limit had passed");
});

testLong(
  "models that use no known columns say so in the record and in the report",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) => `${i},${Math.sin(i).toFixed(3)},${i % 5}`);
    await Deno.writeTextFile(`${folder}/known.csv`, ["time,x,z", ...rows].join("\n"));
    const settings = configOf(ownSeries, {
      ...{ device: "cpu", data: `${folder}/known.csv`, task: "forecast", horizon: 4, budget: "5s" },
      table: { known: ["z"] },
    });
    const run = await startRun(settings, folder);
    await execute(run);
    const { training }: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    const report = await Deno.readTextFile(run.folder.report);
    for (const model of ["exponential-smoothing", "autoregression"]) {
      const entry = training!.compared!.find((one) => one.model === model)!;
      assert.equal(entry.reason, `left out: ${model} uses no values known ahead of time`);
      assert.ok(report.includes(entry.reason!), `${model} in the report`);
    }
  }),
);
