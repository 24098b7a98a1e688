/** Small trained runs for the tests of the server. */
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { execute, type RunConfig, type TrainedRun } from "../../src/train/mod.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";

/** A table of rising or falling series at uneven times, with a ward column and missing values. */
export function table(count: number, isLabelled = true): string {
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length: 4 + i % 3 }, (_, t) => [
      ...[`s${i}`, t + (i % 4) / 10, (t + i) % 5 === 3 ? "" : (i % 2 ? t : -t) + i / 100],
      ...[(i + t) % 2 ? "icu" : "er", ...(isLabelled ? [i % 2 ? "up" : "down"] : [])],
    ])).flat();
  const header = ["series", "time", "x", "ward", ...(isLabelled ? ["label"] : [])];
  return [header, ...rows].map((row) => `${row.join(",")}\n`).join("");
}

/** Trains on the table in the folder, and opens the run. */
export async function trainedRun(
  folder: string,
  chosen: Partial<RunConfig> = {},
): Promise<TrainedRun<TrainedModel>> {
  const data = `${folder}/own.csv`;
  await Deno.writeTextFile(data, table(16));
  const config: RunConfig = {
    ...{
      experiment: "own-series",
      device: "cpu",
      seed: 0,
      epochs: 2,
      batchSize: 8,
      learningRate: 0.03,
      hidden: 4,
    },
    ...{ model: "delta", data, ...chosen },
  };
  const run = await startRun(config, `${folder}/runs`);
  await execute(run);
  return await openTrained(await readRunConfig(run.folder), run.folder);
}
