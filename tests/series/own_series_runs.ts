/** Runs of own-series on small tables. */
import assert from "node:assert/strict";
import type { ClassPrediction, Prediction } from "../../src/series/record/predictions.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { execute, type RunConfig } from "../../src/train/mod.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { readCheckedSafetensors } from "../../src/files/safetensors.ts";
import { openTrained, readRunConfig, resumeRun, startRun } from "../runs.ts";

/** Settings of a small model and few epochs. */
export const settings: RunConfig = {
  experiment: "own-series",
  device: "cpu",
  seed: 0,
  epochs: 10,
  batchSize: 16,
  learningRate: 0.03,
  hidden: 4,
};

/** Writes a table as CSV, and returns its path. */
export async function write(
  path: string,
  header: string,
  rows: readonly (readonly unknown[])[],
): Promise<string> {
  await Deno.writeTextFile(path, `${header}\n${rows.map((row) => row.join(",")).join("\n")}\n`);
  return path;
}

/** Trains on a table, and opens the run as another process would. */
export async function trainedOn(folder: string, data: string, chosen: Partial<RunConfig>) {
  const run = await startRun({ ...settings, ...chosen, data }, `${folder}/runs`);
  const { summary } = await execute(run);
  const { model } = await openTrained(await readRunConfig(run.folder), run.folder);
  return { model, test: summary!.test, baselines: summary!.baselines };
}

/** Answers for all series of a table. They must equal the answers for each series alone. */
export async function answersOf<A extends Prediction>(model: TrainedModel, path: string): Promise<A[]> {
  const set = await model.series!(path);
  const answers = await model.predict!(set);
  const separate = await Promise.all(set.series.map((one) => model.predict!({ ...set, series: [one] })));
  assert.deepEqual(separate.flat(), answers);
  return answers as A[];
}

/** Opens a run as another process would. */
export async function opened(path: string) {
  const folder = runFolder(path);
  return await openTrained(await readRunConfig(folder), folder);
}

/**
 * Trains a model in closed form. A second run, which is stopped before the fit, resumed twice and moved, must have equal
 * weights, measures and answers.
 *
 * @param fresh Another table, to predict.
 */
export async function trainedAndResumed(folder: string, config: RunConfig, fresh: string) {
  const whole = await startRun(config, `${folder}/whole`);
  const { summary, metrics } = await execute(whole);
  const stopped = await startRun(config, `${folder}/stopped`);
  assert.equal((await execute(stopped, { signal: AbortSignal.abort() })).interrupted, true);
  for (const _ of [1, 2]) {
    const resumed = await execute(await resumeRun(config, stopped.folder));
    assert.deepEqual(resumed.summary!.test, summary!.test);
  }
  const [weights, resumedWeights] = await Promise.all(
    [whole, stopped].map(async ({ folder }) => (await readCheckedSafetensors(folder.best)).tensors),
  );
  assert.deepEqual(resumedWeights, weights);
  await Deno.rename(stopped.folder.path, `${folder}/moved`);
  const [first, moved] = [await opened(whole.folder.path), await opened(`${folder}/moved`)];
  const [measured, measuredAgain] = [await measureNew(first, fresh), await measureNew(moved, fresh)];
  assert.deepEqual(measuredAgain.measures, measured.measures);
  const predictions = await answersOf<ClassPrediction>(moved.model, fresh);
  assert.deepEqual(await answersOf(first.model, fresh), predictions);
  assert.equal(moved.model.stream, undefined);
  return { trained: first, summary: summary!, metrics, measured, predictions };
}
