/** Reads runs from their folders. Nothing here writes, and a damaged or missing file is left out. */
import { readTextIfPresent } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import type { RunConfig } from "../train/run/config.ts";
import type { EpochMetrics } from "../train/report/epoch_metrics.ts";
import { readMetrics, type RunFolder, runFolder } from "../train/run/run_folder.ts";
import { readProgress, type RunProgress } from "../train/run/run_progress.ts";
import type { RunSummary } from "../train/run/run_summary.ts";

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
  const runs = new Map<string, RunFolder>();
  const search = async (name: string, depth: number) => {
    const path = name === "" ? folder : `${folder}/${name}`;
    const entries = await Array.fromAsync(Deno.readDir(path)).catch(() => []);
    if (entries.some(({ name, isFile }) => isFile && name === "config.json")) {
      runs.set(name, runFolder(path));
    } else if (depth > 0) {
      const folders = entries.filter(({ isDirectory }) => isDirectory);
      await Promise.all(
        folders.map((entry) => search(name === "" ? entry.name : `${name}/${entry.name}`, depth - 1)),
      );
    }
  };
  await search("", maxDepth);
  return runs;
}

/** Content of a run's files. */
type StoredRun = Omit<ViewedRun, "state">;

/**
 * Returns a function that reads a run, or returns undefined if the run has no configuration. The function parses the
 * files of a run again only if one of them has changed. `now` is the time in milliseconds since 1970.
 */
export function runReader(): (
  name: string,
  folder: RunFolder,
  now?: number,
) => Promise<ViewedRun | undefined> {
  const cache = new Map<string, { readonly version: string; readonly run: StoredRun | undefined }>();
  return async (name, folder, now = Date.now()) => {
    const version = await versionOf(folder);
    let entry = cache.get(folder.path);
    if (entry?.version !== version) {
      cache.set(folder.path, entry = { version, run: await parseRun(name, folder) });
    }
    return entry.run && { ...entry.run, state: stateOf(entry.run, now) };
  };
}

/** A text that changes with the files of a run: training replaces a file, or appends to it. */
async function versionOf({ config, summary, failure, metrics, progress }: RunFolder): Promise<string> {
  const files = await Promise.all(
    [config, summary, failure, metrics, progress].map((path) => Deno.stat(path).catch(() => undefined)),
  );
  return files.map((file) => `${file?.ino} ${file?.size} ${file?.mtime?.getTime()}`).join();
}

async function parseRun(name: string, folder: RunFolder): Promise<StoredRun | undefined> {
  const [config, summary, failure] = await Promise.all([folder.config, folder.summary, folder.failure].map(
    async (path) => parseJson(await readTextIfPresent(path) ?? ""),
  ));
  if (!isRecord(config) || typeof config.experiment !== "string") return undefined;
  const [metrics, progress] = await Promise.all([readMetrics(folder), readProgress(folder)]);
  return {
    ...{ name, folder, config: config as unknown as RunConfig, metrics, progress },
    summary: isRecord(summary) && isRecord(summary.test) ? summary as unknown as RunSummary : undefined,
    failure: isRecord(failure) ? String(failure.reason) : undefined,
  };
}

function stateOf({ progress, summary, failure }: StoredRun, now: number): ViewedRun["state"] {
  if (progress && now - Date.parse(progress.time) < silence) return "training";
  if (failure !== undefined) return "failed";
  if (summary) return "complete";
  return progress ? "silent" : "stopped";
}
