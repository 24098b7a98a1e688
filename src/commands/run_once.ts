/** Executes each run exactly once, even if several processes request it or if it is requested again. */
import { appendJsonLine, exists, makeFolder } from "../files/disk.ts";
import { DivergenceError } from "../solvers/divergence.ts";
import { readRunConfig, type RunConfig, sealedSettings } from "../train/run/config.ts";
import type { Experiment } from "../train/experiment.ts";
import { NonFiniteLossError } from "../train/loop.ts";
import { readOutcome, type RunOutcome, type RunStart } from "../train/run/outcome.ts";
import { resumeRun, type Run, startRun } from "../train/run/run.ts";
import type { RunSummary } from "../train/run/run_summary.ts";
import { lockRun, type RunFolder, writeJson } from "../train/run/run_folder.ts";

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
  start: RunStart,
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
