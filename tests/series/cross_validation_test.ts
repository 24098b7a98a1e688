import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { Series } from "../../src/data/series.ts";
import { meanLogit, meanProbability } from "../../src/series/models/ensemble.ts";
import {
  type CandidateProblem,
  chooseLength,
  crossValidate,
} from "../../src/series/choose/cross_validation.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { scoreOutputs, type SeriesTask } from "../../src/series/targets/score.ts";
import { tensor } from "../../src/tensor/creation.ts";
import { execute } from "../../src/train/run/run.ts";
import { configOf } from "../../src/train/run/config.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { openTrained, readRunConfig, resumeRun, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask } from "../train/tiny_task.ts";
import { testLong } from "../devices.ts";

const settings = { seed: 0, batchSize: 8, learningRate: 0.01, hidden: 4 } as SeriesSettings;

/** Series of two classes, some in groups of two. */
const series = Array.from({ length: 20 }, (_, i): Series => ({
  name: `${i}`,
  times: Float64Array.of(0, 1),
  values: Float64Array.of(i, i),
  label: i % 2,
  ...(i < 8 ? { group: `${Math.floor(i / 2)}` } : {}),
}));

/** A problem whose models predict the first class, or as `fit` says. */
function problemOf(seen: { train: readonly number[]; validation: readonly number[]; steps: number }[]) {
  return {
    series,
    classes: 2,
    seconds: () => 1,
    async task(_, { train, validation }, steps): Promise<SeriesTask> {
      seen.push({ train, validation, steps });
      const { optimizer: __, schedule: ___, ...task } = await tinyTask();
      return {
        ...task,
        fit: async () => {},
        predictValidation: () =>
          Promise.resolve(validation.map((place) => [(place % 2 ? -1 : 1) * (1 + place), 0])),
      };
    },
  } satisfies CandidateProblem;
}

Deno.test("each series is predicted by a model that learned from no series of its group", async () => {
  const seen: Parameters<typeof problemOf>[0] = [];
  const found = (await crossValidate(problemOf(seen), settings, { folds: 4, steps: [10, 20] }))!;
  assert.equal(seen.length, 4); // A closed form has one length.
  assert.deepEqual(seen.flatMap(({ validation }) => validation).sort((a, b) => a - b), [...series.keys()]);
  for (const { train, validation } of seen) {
    assert.equal(train.length + validation.length, series.length);
    const groups = new Set(train.flatMap((place) => series[place].group ?? []));
    assert.ok(validation.every((place) => !groups.has(series[place].group ?? "none")));
  }
  assert.deepEqual([found.accuracy, found.steps], [1, 0]);
  assert.deepEqual(found.outputs[3], [-4, 0]);
});

Deno.test("a search whose signal is aborted returns nothing", async () => {
  const signal = AbortSignal.abort();
  assert.equal(await crossValidate(problemOf([]), settings, { folds: 4, steps: [10], signal }), undefined);
});

Deno.test("another repetition assigns the series to other folds, and keeps their order", async () => {
  const [first, second]: Parameters<typeof problemOf>[0][] = [[], []];
  const options = { folds: 4, steps: [10] };
  const found = await crossValidate(problemOf(first), settings, options);
  const again = await crossValidate(problemOf(second), settings, { ...options, repetition: 1 });
  assert.notDeepEqual(first.map(({ train }) => train), second.map(({ train }) => train));
  assert.deepEqual(found!.errors, again!.errors);
});

Deno.test("the shortest training within one standard error of the smallest error is chosen", () => {
  const candidate = (steps: number, errors: number[]) => ({ steps, errors, baseline: [4, 4, 4, 4] });
  const [short, long] = [candidate(100, [1, 2, 1, 2]), candidate(300, [0, 3.2, 0, 2.6])];
  assert.equal(chooseLength([short, long]), short);
  const better = candidate(1000, [0.5, 1.4, 0.5, 1.6]);
  assert.equal(chooseLength([short, better]), better);
  assert.equal(chooseLength([short, candidate(300, [2, 3, 2.1, 3.1])]), short);
  assert.equal(chooseLength([short, candidate(300, [])]), short);
  assert.equal(chooseLength([]), undefined);
});

Deno.test("scores of numbers are in units of the variance of the targets", () => {
  const known = [1, 2, 3, NaN].map((target) => ({ label: -1, targets: Float64Array.of(target) }));
  const { loss, r2, errors, baseline } = scoreOutputs(known, [[1], [2], [4], [9]], { classes: 0 });
  assert.deepEqual([loss, r2], [0.5, 0.5]);
  assert.deepEqual([errors, baseline], [[0, 0, 1.5], [1.5, 0, 1.5]]);
});

Deno.test("scores of a constant target are finite", () => {
  const known = [3, 3].map((target) => ({ label: -1, targets: Float64Array.of(target) }));
  const { loss, baseline } = scoreOutputs(known, [[3], [5]], { classes: 0 });
  assert.deepEqual([loss, baseline], [2, [0, 0]]);
});

Deno.test("the errors of classes are Brier scores, and those of their fractions are the baseline", () => {
  const known = [0, 0, 1, 0].map((label) => ({ label }));
  const { errors, baseline, accuracy } = scoreOutputs(known, [[9, 0], [9, 0], [9, 0], [0, 9]], {
    classes: 2,
  });
  assert.equal(accuracy, 0.5);
  assert.deepEqual(baseline, [0.125, 0.125, 1.125, 0.125]);
  assert.ok(errors.every((error) => error > 0 && error < 2) && errors[2] === errors[3]);
});

Deno.test("each class that is present has the same weight in a balanced loss", () => {
  // Three samples of the first class, one of the second, none of the third; the scores are equal.
  const known = [0, 0, 0, 1].map((label) => ({ label }));
  const { errors } = scoreOutputs(known, known.map(() => [0, 0, 0]), { classes: 3, balance: true });
  const weights = [2 / 3, 2 / 3, 2 / 3, 2];
  // The Brier score of three equal probabilities is 2 / 3.
  errors.forEach((error, i) => assert.ok(Math.abs(error - weights[i] * 2 / 3) < 1e-12, `${errors}`));
});

Deno.test("an ensemble averages probabilities, not logits", async () => {
  const logits = [[[4, -4]], [[-1, 1]]].map((rows) => tensor(rows));
  const expected = (1 / (1 + Math.exp(-8)) + 1 / (1 + Math.exp(2))) / 2;
  const [probability] = await meanProbability(logits).softmax().data();
  assert.ok(Math.abs(probability - expected) < 1e-6);
  const [logit] = await meanLogit([tensor([[8]]), tensor([[-2]])]).data();
  assert.ok(Math.abs(1 / (1 + Math.exp(-logit)) - expected) < 1e-6);
  const [certain] = await meanProbability([tensor([[900, 0]]), tensor([[900, 0]])]).data();
  assert.ok(Math.abs(certain) < 1e-6);
});

/** Writes a table of series whose height is their class, or their target. */
async function writeTable(folder: string): Promise<string> {
  const rows = Array.from(
    { length: 16 },
    (_, i) =>
      Array.from(
        { length: 5 },
        (_, t) => `s${i},${t},${i % 2 + 0.2 * Math.sin(i + t)},${["low", "high"][i % 2]}`,
      ),
  )
    .flat();
  await Deno.writeTextFile(`${folder}/t.csv`, `${["series,time,x,label", ...rows].join("\n")}\n`);
  return `${folder}/t.csv`;
}

testLong(
  "the length that cross-validation finds is in the record, and a killed run resumes to the same numbers",
  withFolder(async (folder) => {
    const data = await writeTable(folder);
    const chosen = { data, model: "gru", hidden: 4, ensemble: 2, device: "cpu" };
    const config = configOf(ownSeries, chosen);
    const lines: string[] = [];
    const whole = await startRun(config, `${folder}/whole`);
    const { metrics, summary } = await execute(whole, { onPlan: (line) => lines.push(line) });
    assert.match(lines[0], /cross-validation with 5 folds/);
    const record: DataRecord = JSON.parse(await Deno.readTextFile(whole.folder.data));
    assert.ok([100, 300, 1000].includes(record.training!.found!.steps));
    assert.equal(record.training!.ensemble, 2);
    assert.deepEqual([record.split.train.length, record.split.validation.length], [14, 0]);
    assert.equal(summary!.bestEpoch, metrics.length);

    const part = await startRun(config, `${folder}/part`);
    const early = new AbortController();
    await execute(part, { signal: early.signal, onPlan: () => early.abort() });
    assert.ok(!existsSync(part.folder.data));
    const stop = new AbortController();
    const again = await resumeRun(await readRunConfig(part.folder), part.folder);
    await execute(again, { signal: stop.signal, onEpoch: () => stop.abort() });
    const last = await resumeRun(await readRunConfig(part.folder), part.folder);
    assert.equal(last.task.plan, undefined);
    const resumed = await execute(last);
    const untimed = (all: typeof metrics) => all.map((line) => ({ ...line, seconds: 0 }));
    assert.deepEqual(untimed(resumed.metrics), untimed(metrics));
    assert.deepEqual(resumed.summary!.test, summary!.test);

    const { model } = await openTrained(await readRunConfig(part.folder), part.folder);
    const set = await model.series!(data);
    assert.equal((await model.predict!(set)).length, 16);
  }),
);

testLong(
  "with --no-refit the validation set stays outside the training set, and its loss chooses the epoch",
  withFolder(async (folder) => {
    const data = await writeTable(folder);
    const config = configOf(ownSeries, { data, model: "gru", hidden: 2, noRefit: true, device: "cpu" });
    const run = await startRun(config, folder);
    assert.equal(run.task.plan, undefined);
    const { metrics, position } = await execute(run);
    assert.equal(metrics.at(-1)!.step, 1000);
    const losses = metrics.map(({ validation }) => validation.loss);
    assert.equal(position.best!.loss, Math.min(...losses));
  }),
);
