import assert from "node:assert/strict";
import { platform } from "../../src/platform/current.ts";
import { execute, type RunConfig } from "../../src/train/mod.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";
import type { Series } from "../../src/data/series.ts";
import { evaluateClasses } from "../../src/series/targets/evaluate_classes.ts";
import { evaluateForecasts } from "../../src/series/targets/evaluate_forecasts.ts";
import { evaluateNumbers } from "../../src/series/targets/evaluate_numbers.ts";
import type { Evaluation } from "../../src/train/task.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

const settings: RunConfig = {
  experiment: "own-series",
  device: "cpu",
  seed: 0,
  epochs: 1,
  batchSize: 8,
  learningRate: 0.03,
  hidden: 4,
};

async function write(path: string, rows: readonly (readonly unknown[])[]): Promise<string> {
  await Deno.writeTextFile(path, `${rows.map((row) => row.join(",")).join("\n")}\n`);
  return path;
}

/**
 * Series with two channels, of different lengths, at uneven times with bursts and missing values.
 *
 * @param gap Typical time between observations.
 * @param more Additional columns of each series.
 */
function unevenSeries(
  { names, length, gap = 1, more = {} }: {
    names: readonly string[];
    length: number;
    gap?: number;
    more?: Record<string, (series: number) => unknown>;
  },
): unknown[][] {
  const rows = names.flatMap((name, s) =>
    Array.from({ length: length + s % 4 }, (_, i) => {
      const time = gap * (Math.floor(i / 12) * 9 + (i % 12 < 8 ? i % 12 : 8 + (i % 12 - 8) / 5) + s / 10);
      const [x, y] = [Math.sin(time + s) + s % 3, Math.cos(time / 2)];
      return [
        name,
        time,
        i % 5 === 2 ? "" : x,
        i % 4 === 1 ? "" : y,
        ...Object.values(more).map((of) => of(s)),
      ];
    })
  );
  return [["series", "time", "x", "y", ...Object.keys(more)], ...rows];
}

const many = Array.from({ length: 24 }, (_, s) => `s${s}`);

/**
 * Trains on a table, and evaluates the model on another table, whose series are longer and have more
 * observations in a window.
 */
async function measuresOf(
  folder: string,
  chosen: Partial<RunConfig>,
  more = {},
  names: readonly string[] = ["a", "b"],
) {
  const length = names.length > 2 ? 8 : 150;
  const data = await write(`${folder}/own.csv`, unevenSeries({ names, length, more }));
  const run = await startRun({ ...settings, ...chosen, data }, `${folder}/runs`);
  const { summary } = await execute(run);
  const other = await write(
    `${folder}/other.csv`,
    unevenSeries({ names, length: length + 20, gap: 0.6, more }),
  );
  const trained = await openTrained(await readRunConfig(run.folder), run.folder);
  if (trained.record.classes.length > 0) {
    // Probabilities from the loss, without the calibration temperature.
    trained.model.useCalibration!({ temperature: 1, shares: trained.record.classes.map(() => 0.5) });
  }
  return { test: summary!.test, other: (await measureNew(trained, other)).measures, trained, data: other };
}

function assertClose(
  measures: Readonly<Record<string, number>>,
  one: string,
  other: string,
  of: string,
): void {
  const ratio = measures[one] / measures[other];
  assert.ok(Math.abs(ratio - 1) < 1e-5, `${of}: ${one} ${measures[one]}, ${other} ${measures[other]}`);
}

for (const model of ["linear", "neural-cde", "delta-rde", "gru-ode", "warp"]) {
  testLong(
    `the forecast loss of ${model} is the mean squared error for windows of any length`,
    withFolder(async (folder) => {
      const task = { task: "forecast", horizon: 4, context: 8, model } as const;
      const { test, other } = await measuresOf(folder, task);
      assertClose(test, "loss", "mse", "the test part");
      assertClose(other, "loss", "mse", "other data");
    }),
  );
}

testLong(
  "the regression loss is the mean squared error in standard deviations for series of any length",
  withFolder(async (folder) => {
    const age = (s: number) => 30 + s % 7;
    const chosen = { task: "regress", model: "neural-cde", table: { target: ["age"] } } as const;
    const { other, test, trained } = await measuresOf(folder, chosen, { age }, many);
    const [{ standardDeviation }] = trained.record.targets!;
    for (const [of, measures] of Object.entries({ test, other })) {
      assertClose({ ...measures, scaled: measures.mse / standardDeviation ** 2 }, "loss", "scaled", of);
    }
  }),
);

Deno.test(
  "the classification loss is the log loss of the predictions for series of any length",
  withFolder(async (folder) => {
    const label = (s: number) => s % 2 ? "odd" : "even";
    const { other } = await measuresOf(folder, { model: "neural-cde" }, { label }, many);
    assertClose(other, "loss", "logLoss", "other data");
  }),
);

/** Number of times that a file is opened during a function. */
async function countOpens(path: string, body: () => Promise<unknown>): Promise<number> {
  const disk = platform.disk!;
  const { parts } = disk;
  let count = 0;
  disk.parts = (opened) => {
    if (opened === path) count++;
    return parts(opened);
  };
  try {
    await body();
  } finally {
    disk.parts = parts;
  }
  return count;
}

for (
  const [task, more, names] of [
    ["classify", { label: (s: number) => s % 2 ? "odd" : "even" }, many],
    ["regress", { label: (s: number) => s }, many],
    ["forecast", {}, ["a", "b"]],
  ] as const
) {
  testLong(
    `evaluation of other data of the task ${task} reads them once`,
    withFolder(async (folder) => {
      const { trained, data } = await measuresOf(
        folder,
        { task, ...(task === "forecast" ? { horizon: 4, context: 8 } : {}), model: "neural-cde" },
        more,
        names,
      );
      assert.equal(await countOpens(data, () => measureNew(trained, data)), 1);
    }),
  );
}

/** Evaluations of predictions for nine samples of three channels. They count the predicted samples. */
const evaluations: Record<string, (predicted: (count: number) => void) => Promise<Evaluation>> = (() => {
  const channels = ["x", "y", "z"];
  const series = Array.from({ length: 9 }, (_, i): Series => ({
    ...{ name: `s${i}`, times: Float64Array.of(0, 1), values: Float64Array.of(i, 1, 2, 3, 4, 5) },
    ...{ label: i % 2, targets: Float64Array.of(i) },
  }));
  return {
    classes: (predicted) =>
      evaluateClasses({
        ...{ series, channels, classes: ["a", "b"], shares: [0.5, 0.5] },
        predict(samples) {
          predicted(samples.length);
          const [label, probability, probabilities] = ["a", 0.6, { a: 0.6, b: 0.4 }] as const;
          return Promise.resolve(
            samples.map(({ name }) => ({ series: name, label, probability, probabilities })),
          );
        },
      }),
    numbers: (predicted) =>
      evaluateNumbers({
        ...{ series, channels, targets: [{ name: "age", mean: 4, standardDeviation: 2 }] },
        predict(samples) {
          predicted(samples.length);
          return Promise.resolve(samples.map(({ name }) => ({ series: name, numbers: { age: 3 } })));
        },
      }),
    forecasts: (predicted) =>
      evaluateForecasts({
        windows: series.map((past) => ({
          ...{ series: past.name, past, origin: 1, grid: past.values, observed: 2 },
          ...{ at: Float64Array.of(1), targets: past.values.slice(3) },
        })),
        record: {
          channels: channels.map((name) => ({ name, mean: 0, standardDeviation: 1 })),
          windows: { context: 2, horizon: 1, gap: 1, season: 1, seasonalErrors: [1, 1, 1] },
        } as unknown as DataRecord,
        forecast(samples) {
          predicted(samples.length);
          return Promise.resolve(samples.map(() => channels.map(() => ({ mean: [1], quantiles: [] }))));
        },
      }),
  };
})();

for (const [kind, evaluation] of Object.entries(evaluations)) {
  Deno.test(`metrics of ${kind} need one prediction per sample, and a report one more per channel`, async () => {
    let samples = 0;
    const { sections } = await evaluation((count) => samples += count);
    assert.equal(samples, 9);
    const found = (await sections()).map(({ title }) => title).join();
    assert.equal(samples, 9 * (1 + 3));
    assert.match(found, /importance/i);
  });
}
