/** The comparison of forecasting models within a budget of work. */
import assert from "node:assert/strict";
import { compareForecasts, type ForecastTask } from "../../src/series/choose/compare_forecasts.ts";
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

const settings = { batchSize: 4, seed: 0, epochs: 20, budget: "2s" } as unknown as SeriesSettings;

/** Errors of a forecast of four independent values, whose mean is the MASE. The seasonal naive forecast has 1. */
function scoreOf(errors: readonly number[]): Awaited<ReturnType<ForecastTask["scoreValidation"]>> {
  const mase = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return {
    ...{ horizons: errors.map((error) => [[error], [1]] as const), measures: { mase } },
    validated: { measure: "mase", value: mase, standardError: 0 },
  };
}

const around = (mase: number) => [mase - 0.01, mase + 0.01, mase - 0.01, mase + 0.01];

/** A task with 8 training samples and one parameter, whose MASE is the given number. An epoch takes 0.125 s. */
function taskWith(mase: number, parts: Partial<ForecastTask>): ForecastTask {
  const data = { train: ones([8]), test: ones([8]) };
  const parameters = { w: ones([]) };
  return {
    parameters,
    data,
    metric: { name: "loss", mode: "min" },
    seconds: (epochs: number) => 0.125 * epochs,
    evaluate: (x: Tensor) => ({ loss: x.mul(parameters.w).square().mean() }),
    ...{ scoreValidation: () => Promise.resolve(scoreOf(around(mase))), ...parts },
  } as unknown as ForecastTask;
}

const closed = (mase: number, parts: Partial<ForecastTask> = {}) =>
  taskWith(mase, { fit: () => Promise.resolve(), ...parts });

function trained(mase: number, parts: Partial<ForecastTask> = {}): ForecastTask {
  const task = taskWith(mase, parts);
  return { ...task, optimizer: Adam(task.parameters, { learningRate: 0.01 }) };
}

/** Compares a linear model of MASE 0.8 with a network, and lists the epochs of the network's trainings. */
async function withNetwork(budget: string, mase: (epochs: number) => number) {
  const [epochs, lines]: [number[], string[]] = [[], []];
  const found = await compareForecasts(
    { ...settings, budget },
    [{ model: "linear" }, { model: "neural-cde" }],
    (candidateSettings) => {
      if (candidateSettings.model === "linear") return Promise.resolve(closed(0.8));
      epochs.push(candidateSettings.epochs!);
      return Promise.resolve(trained(mase(candidateSettings.epochs!), {
        calibrate: () => Promise.resolve({ errors: candidateSettings.epochs }),
      }));
    },
    { onLine: (line) => lines.push(line) },
  );
  return { found: found!, epochs: epochs.slice(1), lines };
}

Deno.test("a training that exceeds the budget of work has fewer epochs, and its error counts", async () => {
  const { found, epochs, lines } = await withNetwork("2s", () => 0.7);
  assert.equal(found.chosen!.model, "neural-cde");
  // 0.125 s of the linear model and 0.625 s of the first look leave 10 epochs of 0.125 s; two steps per epoch.
  assert.deepEqual(epochs, [5, 10]);
  const { measures, steps, seconds } = found.compared![1];
  assert.deepEqual({ measures, steps, seconds }, { measures: { mase: 0.7 }, steps: 20, seconds: 1.875 });
  assert.equal(
    lines[0],
    "comparing models with at most the work of 2 seconds on a typical machine (budget 2s)",
  );
});

Deno.test("a training within the budget is whole, and its errors calibrate the final model", async () => {
  const { found, epochs } = await withNetwork("1m", () => 0.7);
  assert.deepEqual(epochs, [5, 20]);
  assert.equal(found.compared![1].steps, undefined);
  assert.deepEqual(found.errors, { errors: 20 });
  assert.deepEqual(found.validated, { measure: "mase", value: 0.7, standardError: 0 });
});

Deno.test("a training that is clearly behind after a quarter of its epochs ends", async () => {
  const { found, epochs } = await withNetwork("1m", (epochs) => epochs < 20 ? 0.9 : 0.5);
  assert.deepEqual(epochs, [5]);
  assert.equal(found.chosen!.model, "linear");
  assert.equal(found.compared![1].reason, "not trained longer: clearly behind linear");
  assert.deepEqual(found.compared![1].measures, { mase: 0.9 });
});

/** Compares two models with errors of the validation period, and of the earlier period. */
async function closeModels(first: number[][], second: number[][]) {
  const origins: number[] = [];
  const found = await compareForecasts(
    settings,
    [{ model: "first" }, { model: "second" }],
    ({ model }, origin) => {
      origins.push(origin);
      const errors = (model === "first" ? first : second)[origin];
      return Promise.resolve(closed(0, { scoreValidation: () => Promise.resolve(scoreOf(errors)) }));
    },
    {},
  );
  return { chosen: found!.chosen!.model, origins };
}

Deno.test("the simpler of two models is chosen if they are close in two periods", async () => {
  const [simple, best] = [[0.8, 0.8, 0.8, 0.8], [0.5, 1, 0.5, 1]];
  assert.deepEqual(await closeModels([simple, simple], [best, best]), {
    ...{ chosen: "first", origins: [0, 0, 1, 1] },
  });
});

Deno.test("the better of two models is chosen if the earlier period shows that it is better", async () => {
  const [simple, best, clear] = [[0.8, 0.8, 0.8, 0.8], [0.5, 1, 0.5, 1], [0.4, 0.4, 0.4, 0.4]];
  assert.equal((await closeModels([simple, simple], [best, clear])).chosen, "second");
});

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

Deno.test("a candidate whose work exceeds the rest of the budget says so", async () => {
  const found = await compareForecasts(
    { ...settings, budget: "1s" },
    [{ model: "linear" }, { model: "second" }],
    () => Promise.resolve(closed(0.8, { seconds: () => 0.8 })),
    {},
  );
  assert.equal(
    found!.compared![1].reason,
    "not started: its work is 0.8 seconds on a typical machine, and the budget has 0.2 seconds left",
  );
});

Deno.test("a comparison that takes ten times its budget ends, and warns that the choice depends on it", async () => {
  const late = closed(0.8, {
    seconds: () => 0,
    fit: () => new Promise((resolve) => setTimeout(resolve, 60)),
  });
  const found = await compareForecasts(
    { ...settings, budget: "0.005s" },
    [{ model: "linear" }, { model: "second" }],
    () => Promise.resolve(late),
    {},
  );
  assert.match(
    found!.compared![1].reason!,
    /^ended after ten times the budget; the choice depends on the speed/,
  );
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
