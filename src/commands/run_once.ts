/** Executes each run exactly once, even if several processes request it or if it is requested again. */
import { appendJsonLine, exists, makeFolder, readTextIfPresent } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import { DivergenceError } from "../solvers/divergence.ts";
import { readRunConfig, type RunConfig, sealedSettings } from "../train/run/config.ts";
import type { Experiment } from "../train/experiment.ts";
import { NonFiniteLossError } from "../train/loop.ts";
import { resumeRun, type Run, startRun } from "../train/run/run.ts";
import type { RunSummary } from "../train/run/run_summary.ts";
import { lockRun, type RunFolder, writeJson } from "../train/run/run_folder.ts";

/** Start of a process that executes a run: a line of `starts.jsonl`. */
export interface Start {
  /** Command line. */
  readonly command: string;
  /** Commit of the process's checkout, if it runs in a checkout. */
  readonly commit?: string;
  /** Time in ISO 8601, such as `2026-01-31T12:00:00.000Z`. */
  readonly time: string;
}

/** Outcome of a run: its summary, or the reason of its failure. */
export type RunOutcome = { readonly summary: RunSummary } | { readonly failure: string };

/**
 * Outcome of a run, if it has ended with this number of epochs.
 *
 * @throws {Error} If the summary is damaged.
 */
export async function readOutcome(folder: RunFolder, epochs?: number): Promise<RunOutcome | undefined> {
  const config = parseJson(await readTextIfPresent(folder.config) ?? "");
  if (!isRecord(config) || config.epochs !== epochs) return undefined;
  const failure = parseJson(await readTextIfPresent(folder.failure) ?? "");
  if (isRecord(failure)) return { failure: String(failure.reason) };
  const text = await readTextIfPresent(folder.summary);
  if (text === undefined) return undefined;
  const summary = parseJson(text);
  if (!isRecord(summary) || !isRecord(summary.test)) {
    throw new Error(`${folder.summary}: damaged: expected the summary of a run; remove ${folder.path}`);
  }
  return { summary: summary as unknown as RunSummary };
}

/**
 * Executes a run in a given folder: starts it, resumes it, or returns its outcome if it has ended. Waits
 * while another process executes the run. A run that diverged has failed for good.
 *
 * @param trainRun Executes the prepared run. Its folder is already locked.
 * @returns Outcome of the run; undefined if it was interrupted.
 * @throws {Error} If the folder has a run with other settings.
 */
export async function runOnce(
  experiment: Experiment,
  config: RunConfig,
  folder: RunFolder,
  start: Start,
  trainRun: (run: Run) => Promise<RunSummary | undefined>,
): Promise<RunOutcome | undefined> {
  await makeFolder(folder.path);
  await using _lock = await lockRun(folder, { wait: true });
  const isBegun = await exists(folder.config);
  if (isBegun && sealedSettings(await readRunConfig(folder, [experiment])) !== sealedSettings(config)) {
    throw new Error(
      `${folder.path}: the folder has a run with other settings; choose another folder, or remove it`,
    );
  }
  const before = await readOutcome(folder, config.epochs);
  if (before) return before;
  await appendJsonLine(folder.starts, start);
  const run = isBegun
    ? await resumeRun(experiment, config, folder)
    : await startRun(experiment, config, folder);
  try {
    const summary = await trainRun(run);
    return summary && { summary };
  } catch (error) {
    if (!(error instanceof NonFiniteLossError || error instanceof DivergenceError)) throw error;
    await writeJson(folder.failure, { reason: error.message });
    return { failure: error.message };
  }
}
