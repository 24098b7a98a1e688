/** The automatic choice of a model. */
import assert from "node:assert/strict";
import { modelCandidates } from "../../src/series/choose/auto.ts";
import { secondsOfBudget } from "../../src/series/record/budget.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { searchCandidates } from "../../src/series/choose/search.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { key } from "../../src/tensor/random.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { meanWithError } from "../../src/series/targets/score.ts";
import { execute } from "../../src/train/mod.ts";
import { configOf } from "../../src/train/run/config.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { testLong } from "../devices.ts";
import { openTrained, readRunConfig, resumeRun, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";

const settingsFor = (chosen: object) => configOf(ownSeries, { device: "cpu", ...chosen });

/** Series whose class is the frequency; noise makes some of them hard. */
async function writeWaves(path: string, count: number, noise = 0, length = 30): Promise<string> {
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length }, (_, t) => {
      const value = Math.sin(2.4 * i + t * (i % 2 ? 0.9 : 0.5)) + noise * Math.sin(7.1 * t * (i + 1));
      return `s${i},${t},${value.toFixed(4)},${i % 2 ? "fast" : "slow"}`;
    })).flat();
  await Deno.writeTextFile(path, ["series,time,x,label", ...rows].join("\n"));
  return path;
}

/** A monthly table with a trend and a season. */
async function writeMonths(path: string, months: number): Promise<string> {
  const rows = Array.from({ length: months }, (_, i) => {
    const date = `${2000 + Math.floor(i / 12)}-${`${i % 12 + 1}`.padStart(2, "0")}`;
    return `${date},${(100 + i + 10 * Math.sin(Math.PI * i / 6)).toFixed(3)}`;
  });
  await Deno.writeTextFile(path, ["time,x", ...rows].join("\n"));
  return path;
}

Deno.test("a time limit has a unit", () => {
  assert.deepEqual(["90s", "2m", "2 min", "1.5h"].map(secondsOfBudget), [90, 120, 120, 5400]);
  for (const text of ["", "2", "m", "2 days", "-1s"]) assert.ok(Number.isNaN(secondsOfBudget(text)), text);
  assert.throws(
    () => settingsFor({ budget: "soon" }),
    /budget is "soon", expected a time such as 90s, 2m or 1h/,
  );
});

Deno.test("the standard error of a mean falls with the square root of the number of values", () => {
  const { mean, standardError } = meanWithError([0, 2, 0, 2]);
  assert.equal(mean, 1);
  assert.ok(Math.abs(standardError - Math.sqrt(4 / 3) / 2) < 1e-12);
});

Deno.test("auto is the default model, and options that it does not take select another default", () => {
  const modelOf = (chosen: object) => settingsFor(chosen).model;
  assert.equal(modelOf({}), "auto");
  assert.equal(modelOf({ task: "forecast" }), "auto");
  assert.equal(modelOf({ online: true }), "auto");
  assert.equal(modelOf({ epochs: 3 }), "delta");
  assert.equal(modelOf({ hidden: 8 }), "delta");
  assert.throws(() => settingsFor({ model: "auto", epochs: 3 }), /the model auto cannot use epochs/);
  assert.throws(
    () => settingsFor({ model: "delta", budget: "1m" }),
    /budget is the work of a comparison: leave it out, or give model auto or search/,
  );
});

testLong(
  "auto, stopped during its comparison, starts again, chooses a model once, and evaluates, moves and predicts with it",
  withFolder(async (folder) => {
    const data = await writeWaves(`${folder}/waves.csv`, 24);
    const stopped = await startRun(settingsFor({ data, ensemble: 2 }), folder);
    assert.equal((await execute(stopped, { signal: AbortSignal.abort() })).interrupted, true);
    const run = await resumeRun(await readRunConfig(stopped.folder), stopped.folder);
    const lines: string[] = [];
    const { summary } = await execute(run, { onPlan: (line) => lines.push(line) });
    assert.equal(summary!.epochs, 1);
    assert.match(
      lines[0],
      /^comparing models with at most the work of 2 minutes on a typical machine \(budget 2m\)$/,
    );
    assert.match(lines.at(-3)!, /^chosen: random-convolutions$/);
    assert.match(
      lines.at(-2)!,
      /^random-convolutions is fitted in closed form.*: the option ensemble has no effect$/,
    );
    assert.match(lines.at(-1)!, /^the final model learns from all 20 series/);
    assert.match(summary!.verdict!, /of the series are classified correctly; the most frequent class has/);
    const record: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    assert.equal(record.training!.chosen!.model, "random-convolutions");
    // Nothing can be better than a model without an error.
    assert.deepEqual(
      record.training!.compared!.map(({ reason }) => reason),
      [
        ...Array<undefined>(3).fill(undefined),
        ...Array<string>(6).fill("not started: random-convolutions makes no error"),
      ],
    );
    const report = await Deno.readTextFile(run.folder.report);
    assert.match(report, /<h2>Compared models<\/h2>/);
    assert.match(
      report,
      /Chosen: random-convolutions, by the rule: the simplest model whose error is at most one standard error/,
    );
    assert.match(report, /class="verdict">[^<]+classified correctly/);
    assert.match(report, /<title>[^<]*waves: random-convolutions/);
    assert.match(report, /<div class="tiles"><div class="tile chosen"><b>[^<]*<\/b><span>test accuracy</);
    assert.match(report, /24 series, 20 for cross-validation and then to train, 4 to test/);
    assert.doesNotMatch(report, />(hidden|epochs|batch size|learning rate)</);

    const resumed = await execute(await resumeRun(await readRunConfig(run.folder), run.folder));
    assert.deepEqual(resumed.summary!.test, summary!.test);
    await Deno.rename(run.folder.path, `${folder}/moved`);
    const moved = runFolder(`${folder}/moved`);
    const trained = await openTrained(await readRunConfig(moved), moved);
    assert.equal((await measureNew(trained, data)).measures.accuracy, 1);
  }),
);

testLong(
  "auto compares all candidates on a hard table",
  withFolder(async (folder) => {
    const data = await writeWaves(`${folder}/waves.csv`, 24, 3, 12);
    // One comparison of each candidate.
    const run = await startRun(settingsFor({ data, budget: "12s" }), folder);
    await execute(run);
    const { training }: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    assert.deepEqual(training!.compared!.map(({ model }) => model), [
      ...["constant", "last-values", "random-convolutions", "boosted-trees", "blend"],
      ...["neural-cde", "delta", "warp", "s5"],
    ]);
    assert.ok(training!.compared!.every(({ measures, reason }) => measures || reason));
  }),
);

Deno.test(
  "two runs of the same command, one of them by a fast clock, have the same weights and the same choice",
  withFolder(async (folder) => {
    const data = await writeMonths(`${folder}/months.csv`, 60);
    const settings = settingsFor({ data, task: "forecast", horizon: "6 months" });
    const filesOf = async (name: string) => {
      const run = await startRun(settings, `${folder}/${name}`);
      await execute(run);
      return await Promise.all([run.folder.best, run.folder.data].map((path) => Deno.readFile(path)));
    };
    const first = await filesOf("first");
    // Everything seems to take longer, as on a busy machine.
    const clocks = [performance, Date].map((clock) => ({ clock, now: clock.now.bind(clock) }));
    for (const { clock, now } of clocks) clock.now = () => 50 * now();
    try {
      assert.deepEqual(await filesOf("second"), first);
    } finally {
      for (const { clock, now } of clocks) clock.now = now;
    }
  }),
);

testLong(
  "auto chooses a model for forecasts by its errors in the validation period",
  withFolder(async (folder) => {
    const data = await writeMonths(`${folder}/months.csv`, 96);
    const run = await startRun(settingsFor({ data, task: "forecast", horizon: "6 months" }), folder);
    const { summary } = await execute(run);
    const { training }: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    assert.equal(training!.compared!.length, 7);
    assert.ok(training!.compared!.some(({ model }) => model === training!.chosen!.model));
    assert.equal(training!.validated!.measure, "mase");
    assert.ok(summary!.test.mase < 0.2, `${summary!.test.mase}`);
    assert.match(summary!.verdict!, /^Better than the seasonal naive forecast \(MASE/);
    const report = await Deno.readTextFile(run.folder.report);
    assert.match(
      report,
      /<div class="tiles"><div class="tile chosen"><b>[^<]*<\/b><span>test mean absolute scaled/,
    );
    assert.match(report, /<td[^>]*>12 months<\/td><td[^>]*>season of forecasts</);
    const trained = await openTrained(await readRunConfig(run.folder), run.folder);
    const set = await trained.model.series!(data);
    const [forecast] = await trained.model.predict!(set);
    assert.deepEqual((forecast as { times: readonly unknown[] }).times.slice(0, 2), ["2008-01", "2008-02"]);
  }),
);

testLong(
  "forecasts of a wide table have the name of the series on their axis",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) => `${i},${Math.sin(i).toFixed(3)},${i % 5}`);
    await Deno.writeTextFile(`${folder}/wide.csv`, ["time,north,south", ...rows].join("\n"));
    const table = { wide: true };
    const chosen = { data: `${folder}/wide.csv`, task: "forecast", model: "linear", horizon: 4, table };
    const run = await startRun(settingsFor(chosen), folder);
    await execute(run);
    const report = await Deno.readTextFile(run.folder.report);
    const axes = [...report.matchAll(/class="title"[^>]*>([^<]*)</g)].map(([, title]) => title);
    assert.deepEqual(new Set(axes), new Set(["time", "north", "south"]));
    assert.doesNotMatch(report, /channels:? value/);
    assert.match(report, /the final model learns from the training and the validation part/);
  }),
);

Deno.test("a search draws settings that the model takes, and keeps the sizes that were given", () => {
  const settings = settingsFor({ model: "delta", depth: 2, search: 8 }) as unknown as SeriesSettings;
  const candidates = searchCandidates(settings, neuralModels.delta, 8, key(1));
  assert.equal(candidates.length, 8);
  assert.deepEqual(candidates[0].chosen, { model: "delta" });
  for (const { chosen } of candidates.slice(1)) {
    assert.deepEqual(Object.keys(chosen), ["model", "hidden", "heads", "feedForward", "learningRate"]);
    assert.ok(Number(chosen.learningRate) >= 0.001 && Number(chosen.learningRate) <= 0.02);
    assert.equal(Number(chosen.hidden) % Number(chosen.heads), 0);
  }
  assert.ok(new Set(candidates.map(({ label }) => label)).size > 5);
  assert.throws(() => settingsFor({ search: 3, model: "auto" }), /the model auto cannot use search/);
});

testLong(
  "a search ranks settings, and trains the chosen ones",
  withFolder(async (folder) => {
    const data = await writeWaves(`${folder}/waves.csv`, 24, 3, 12);
    const run = await startRun(settingsFor({ data, model: "s5", search: 3, budget: "7s" }), folder);
    const { summary } = await execute(run);
    const { training }: DataRecord = JSON.parse(await Deno.readTextFile(run.folder.data));
    assert.equal(training!.compared!.length, 3);
    assert.equal(training!.compared![0].model, "s5 with the settings of the run");
    assert.equal(training!.chosen!.model, "s5");
    const trained = await openTrained(await readRunConfig(run.folder), run.folder);
    assert.ok(Number.isFinite((await measureNew(trained, data)).measures.logLoss));
    assert.ok(summary);
  }),
);

Deno.test("auto says which models cannot use the given settings", () => {
  const reasons = (given: object) =>
    modelCandidates(ownSeries.models("classify"), given as SeriesSettings).flatMap(({ label, reason }) =>
      reason === undefined ? [] : [`${label}: ${reason}`]
    );
  assert.deepEqual(reasons({}), []);
  const fitted = ["constant", "last-values", "random-convolutions", "boosted-trees", "blend"];
  assert.deepEqual(
    reasons({ online: true }),
    [...fitted, "warp"].map((model) => `${model}: left out: ${model} cannot use online`),
  );
  assert.deepEqual(
    reasons({ positiveWeight: 3 }),
    fitted.map((model) => `${model}: left out: ${model} cannot use positive weight`),
  );
});

Deno.test("options whose size decides the time of a step have a bound", () => {
  for (
    const [name, given] of Object.entries({
      depth: { model: "delta", depth: 1e6 },
      ensemble: { model: "delta", ensemble: 1e6 },
      search: { model: "delta", search: 1e6 },
      context: { task: "forecast", context: 1e9 },
      season: { task: "forecast", season: 1e9 },
    })
  ) {
    const message = new RegExp(`${name} is \\d+, expected a whole number of at least \\d and below`);
    assert.throws(() => settingsFor(given), message, name);
  }
});
