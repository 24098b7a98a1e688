/** Classification and regression of own-series: answers, splits, class weights and streams. */
import assert from "node:assert/strict";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { ClassPrediction, NumberPrediction, Prediction } from "../../src/series/record/predictions.ts";
import { execute } from "../../src/train/mod.ts";
import { startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { answersOf, settings, trainedOn, write } from "./own_series_runs.ts";
import { testLong } from "../devices.ts";

/** Series at uneven times that stay close to a level, which differs between series. */
const level = (i: number) => (i % 7) / 3;
const levels = (label: (i: number) => unknown) =>
  Array.from({ length: 42 }, (_, i) =>
    Array.from({ length: 3 + i % 3 }, (_, t) => [
      `s${i}`,
      t + 0.1 * (i % 3),
      level(i) + 0.01 * Math.sin(i + t),
      label(i),
    ])).flat();

testLong(
  "an invalid calibration option is rejected",
  withFolder(async (folder) => {
    const data = await write(
      `${folder}/own.csv`,
      "series,time,x,label",
      levels((i) => i % 2 ? "odd" : "even"),
    );
    const { model } = await trainedOn(folder, data, { epochs: 1 });
    model.useCalibration!({ temperature: 2, shares: [0.5, 0.5] });
    const shares: unknown[] = [[0.5], [1e308, 0.5], [NaN, 0.5], null];
    const forged = [...shares.map((shares) => ({ temperature: 2, shares })), {
      temperature: -1,
      shares: [0.5, 0.5],
    }];
    for (const one of forged) {
      assert.throws(
        () => model.useCalibration!(one),
        /damaged calibration .* temperature from 0\.05 to 20 and, for each of 2 classes, a share from 0 to 1; restore/,
      );
    }
    const made = { task: "forecast", horizon: 2, context: 2, epochs: 1 } as const;
    const rows = Array.from({ length: 60 }, (_, t) => [t, Math.sin(t)]);
    const { model: continued } = await trainedOn(
      folder,
      await write(`${folder}/wave.csv`, "time,x", rows),
      made,
    );
    const errors = Array.from({ length: 2 }, () => new Array(9).fill(0.1));
    continued.useCalibration!({ errors: [errors] });
    for (const forged of [[errors.slice(1)], [[errors[0], new Array(9).fill(1e300)]], "none"]) {
      assert.throws(
        () => continued.useCalibration!({ errors: forged }),
        /damaged calibration .* expected 9 numbers for each of 1 channels and 2 steps; restore/,
      );
    }
  }),
);

testLong(
  "a classification returns the probabilities of all classes, which sum to 1",
  withFolder(async (folder) => {
    const kinds = ["low", "middle", "high"];
    const kindOf = (i: number) => kinds[Math.min(2, Math.floor(level(i) * 1.3))];
    const rows = levels(kindOf);
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const { model } = await trainedOn(folder, data, { epochs: 20 });
    const answers = await answersOf<ClassPrediction>(model, data);
    for (const { label, probability, probabilities } of answers) {
      assert.deepEqual(Object.keys(probabilities), kinds.toSorted());
      const all = Object.values(probabilities);
      assert.ok(Math.abs(all.reduce((sum, one) => sum + one, 0) - 1) < 1e-12);
      assert.equal(probability, Math.max(...all));
      assert.equal(probabilities[label], probability);
    }
    const correct = answers.filter(({ label }, i) => label === kindOf(i)).length;
    assert.ok(correct > 30, `${correct} of 42`);
  }),
);

testLong(
  "a regression returns a number per series in the unit of the target",
  withFolder(async (folder) => {
    const rows = levels((i) => 1000 + 500 * level(i));
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const { model } = await trainedOn(folder, data, { task: "regress", epochs: 30 });
    const answers = await answersOf<NumberPrediction>(model, data);
    const errors = answers.map(({ numbers }, i) => Math.abs(numbers.label - (1000 + 500 * level(i))));
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    assert.ok(mean < 100, `a mean error of ${mean}; predicting the mean gives 286`);
  }),
);

Deno.test(
  "every series is in one test set over all folds, and every class is in every part",
  withFolder(async (folder) => {
    const rows = levels((i) => i % 7 < 2 ? "rare" : "common");
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const tested: string[] = [];
    for (const fold of [0, 1, 2]) {
      const { task } = await startRun({ ...settings, data, folds: 3, fold }, `${folder}/runs`);
      const { train, validation, test }: DataRecord["split"] = task.record!.split;
      const [all, testSet] = [[...train, ...validation, ...test], test].map((part) =>
        part.map(({ name }) => name)
      );
      assert.equal(new Set(all).size, 42);
      tested.push(...testSet);
      for (const part of [train, validation, test]) {
        const rare = part.filter(({ position }) => position % 7 < 2).length;
        assert.ok(rare > 0 && rare < part.length);
      }
    }
    assert.equal(new Set(tested).size, 42);
    assert.equal(tested.length, 42);
  }),
);

Deno.test(
  "series of a group are in one part of a split, also in each fold",
  withFolder(async (folder) => {
    const rows = levels((i) => `${i % 2 ? "odd" : "even"},ward ${Math.floor(i / 3)},half ${i % 2}`);
    const data = await write(`${folder}/own.csv`, "series,time,x,label,ward,half", rows);
    const table = { group: "ward" };
    for (const chosen of [{}, { folds: 3, fold: 0 }, { folds: 3, fold: 2 }]) {
      const { task } = await startRun({ ...settings, data, table, ...chosen }, `${folder}/runs`);
      const { train, validation, test }: DataRecord["split"] = task.record!.split;
      const parts = [train, validation, test].map((part) =>
        new Set(part.map(({ position }) => Math.floor(position / 3)))
      );
      assert.ok(parts.every(({ size }) => size > 0));
      assert.equal(parts.reduce((sum, { size }) => sum + size, 0), 14, "no ward is in two parts");
    }
    await assert.rejects(
      startRun({ ...settings, data, table: { group: "half" } }, `${folder}/runs`),
      /2 groups of series leave none for the part "validation"/,
    );
  }),
);

testLong(
  "balanced class weights give an uninformative model the loss of equally frequent classes",
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 80 },
      (_, row) => [`s${row >> 1}`, row % 2, 1, (row >> 1) % 8 ? "common" : "rare"],
    );
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const rareOf = async (balance: boolean) => {
      const { metrics } = await execute(
        await startRun({ ...settings, data, balance, epochs: 30 }, `${folder}/runs`),
      );
      return metrics.at(-1)!.train.loss;
    };
    // The entropy of one half, compared with the entropy of one eighth.
    assert.ok(Math.abs(await rareOf(true) - Math.log(2)) < 0.1);
    assert.ok(await rareOf(false) < 0.5);
  }),
);

Deno.test(
  "a class that occurs only in the test set is evaluated with balanced weights",
  withFolder(async (folder) => {
    const rows = levels((i) => `${i < 39 ? i % 2 : "rare"},${Math.min(i, 38)}`);
    const data = await write(`${folder}/own.csv`, "series,time,x,label,ward", rows);
    await trainedOn(folder, data, { seed: 4, balance: true, table: { group: "ward" } });
  }),
);

Deno.test(
  "training ends when the validation loss has not improved for the patience",
  withFolder(async (folder) => {
    const rows = levels((i) => i % 2 ? "odd" : "even");
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const run = await startRun({ ...settings, data, epochs: 60, patience: 3 }, `${folder}/runs`);
    const { metrics } = await execute(run);
    const losses = metrics.map(({ validation }) => validation.loss);
    assert.ok(metrics.length < 60);
    assert.equal(losses.indexOf(Math.min(...losses)), losses.length - 5);
  }),
);

testLong(
  "streamed predictions of an online model equal the predictions of the whole series, also from a saved state",
  withFolder(async (folder) => {
    const rows = levels((i) => level(i)).map((row, i) => i % 5 === 3 ? row.with(2, "") : row);
    const data = await write(`${folder}/own.csv`, "series,time,x,label", rows);
    const { model } = await trainedOn(folder, data, {
      ...{ task: "regress", online: true, epochs: 3, model: "delta" },
    });
    const set = await model.series!(data);
    const whole = await answersOf<NumberPrediction>(model, data);
    for (const i of [0, 4, 17]) {
      const { name, times, values } = set.series[i];
      let stream = model.stream!(name);
      let answer: Prediction | undefined;
      for (const [t, time] of times.entries()) {
        answer = await stream.push(time, [values[t]]);
        stream = model.stream!(name, JSON.parse(JSON.stringify(await stream.save())));
      }
      const error = Math.abs((answer as NumberPrediction).numbers.label - whole[i].numbers.label);
      assert.ok(error < 1e-5, `${name}: ${error}`);
      await assert.rejects(stream.push(times[0], [0]), /series "s\d+": time 0.*, expected a time later than/);
      await assert.rejects(stream.push(1e6, [0, 1]), /2 values, expected one for each of x, NaN where/);
    }
  }),
);
