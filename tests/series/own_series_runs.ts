/** Runs of own-series on small tables. */
import assert from "node:assert/strict";
import type { Prediction } from "../../src/series/record/predictions.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { execute, type RunConfig } from "../../src/train/mod.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";

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
