/** Reads runs from their folders. Nothing here writes, and a damaged or missing file is left out. */
import { readTextIfPresent } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import type { RunConfig } from "../train/config.ts";
import type { EpochMetrics } from "../train/epoch_metrics.ts";
import { readMetrics, type RunFolder, runFolder } from "../train/run_folder.ts";
import { readProgress, type RunProgress } from "../train/run_progress.ts";
import type { RunSummary } from "../train/run_summary.ts";

/** States of a run. "silent" runs have no recent update: the process was killed, or a step is long. */
export const runStates = ["training", "silent", "complete", "failed", "stopped"] as const;

/** A run as its folder describes it. */
export interface ViewedRun {
  /** Path in the viewed folder; "" for the folder itself. */
  readonly name: string;
  /** Paths of the run's files. */
  readonly folder: RunFolder;
  readonly config: RunConfig;
  readonly metrics: readonly EpochMetrics[];
  readonly summary?: RunSummary;
  /** Why the run failed. */
  readonly failure?: string;
  /** Progress, until the process ends. */
  readonly progress?: RunProgress;
  readonly state: typeof runStates[number];
}

/** Maximum depth of a run in a folder of runs: `<table>/<experiment>/<time>`. */
const maxDepth = 3;

/** Milliseconds without an update after which a run in training is called silent. */
const silence = 60_000;

/**
 * Folders of the runs in a folder, by their paths in the folder. A run's own folder has the path "". Links are
 * not followed, so that every run is in the folder.
 */
export async function findRuns(folder: string): Promise<Map<string, RunFolder>> {
  const found = new Map<string, RunFolder>();
  const search = async (name: string, depth: number) => {
    const path = name === "" ? folder : `${folder}/${name}`;
    const entries = await Array.fromAsync(Deno.readDir(path)).catch(() => []);
    if (entries.some(({ name, isFile }) => isFile && name === "config.json")) {
      found.set(name, runFolder(path));
    } else if (depth > 0) {
      const folders = entries.filter(({ isDirectory }) => isDirectory);
      await Promise.all(
        folders.map((entry) => search(name === "" ? entry.name : `${name}/${entry.name}`, depth - 1)),
      );
    }
  };
  await search("", maxDepth);
  return found;
}

/** Reads a run. Undefined without a configuration. @param now Time in milliseconds since 1970. */
export async function readRun(
  name: string,
  folder: RunFolder,
  now = Date.now(),
): Promise<ViewedRun | undefined> {
  const [config, summary, failure] = await Promise.all([folder.config, folder.summary, folder.failure].map(
    async (path) => parseJson(await readTextIfPresent(path) ?? ""),
  ));
  if (!isRecord(config) || typeof config.experiment !== "string") return undefined;
  const [metrics, progress] = await Promise.all([readMetrics(folder), readProgress(folder)]);
  const run = {
    ...{ name, folder, config: config as unknown as RunConfig, metrics, progress },
    summary: isRecord(summary) && isRecord(summary.test) ? summary as unknown as RunSummary : undefined,
    failure: isRecord(failure) ? String(failure.reason) : undefined,
  };
  return { ...run, state: stateOf(run, now) };
}

function stateOf({ progress, summary, failure }: Omit<ViewedRun, "state">, now: number): ViewedRun["state"] {
  if (progress && now - Date.parse(progress.time) < silence) return "training";
  if (failure !== undefined) return "failed";
  if (summary) return "complete";
  return progress ? "silent" : "stopped";
}
