/** Runs of the tiny task, in folders that are deleted after the test. */
import assert from "node:assert/strict";
import { readSafetensors } from "../../src/files/safetensors.ts";
import { key } from "../../src/tensor/random.ts";
import { train, type TrainOptions } from "../../src/train/loop.ts";
import type { EpochMetrics } from "../../src/train/report/epoch_metrics.ts";
import { createRun, type RunFolder } from "../../src/train/run/run_folder.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask, type TinyTaskOptions } from "./tiny_task.ts";

/** Runs a test with the folder of a new run. */
export function withRun(body: (folder: RunFolder) => Promise<void>): () => Promise<void> {
  return withFolder(async (out) => await body(await createRun(out, "tiny", {})));
}

/** Batches of eight from fifty samples: seven steps per epoch, the last batch is smaller. */
export const batches = { batchSize: 8, key: key(1) };

/** Trains a tiny task, for four epochs by default. */
export async function run(
  folder: RunFolder,
  options: Partial<TrainOptions> & { task?: TinyTaskOptions } = {},
) {
  const { task = {}, ...rest } = options;
  return await train(await tinyTask(task), { epochs: 4, ...batches, folder, ...rest });
}

/** The folder of another run, beside the given one. */
export async function newRun(folder: RunFolder): Promise<RunFolder> {
  return await createRun(folder.path, "other", {});
}

/** Everything that must not depend on interruptions. */
async function results(folder: RunFolder) {
  const lines = (await Deno.readTextFile(folder.metrics)).trimEnd().split("\n");
  const metrics = lines.map((line) => ({ ...JSON.parse(line) as EpochMetrics, seconds: 0 }));
  const last = await readSafetensors(folder.last);
  // The digest of the metrics depends on the time.
  const position = { ...JSON.parse(last.metadata["weft.position"]), seconds: 0, metrics: "" };
  return { metrics, tensors: last.tensors, position, best: (await readSafetensors(folder.best)).tensors };
}

/** Fails unless two runs have the same metrics, checkpoints and positions. */
export async function assertSame(folder: RunFolder, other: RunFolder): Promise<void> {
  assert.deepEqual(await results(folder), await results(other));
}
