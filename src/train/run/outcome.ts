/** Outcome of a run that is executed once: its summary, or the reason of its failure. */
import { readTextIfPresent } from "../../files/disk.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import type { RunFolder } from "./run_folder.ts";
import type { RunSummary } from "./run_summary.ts";

/** Start of a process that executes a run: a line of `starts.jsonl`. */
export interface RunStart {
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
 * Reads the outcome of a run of `train --run`.
 *
 * @param folder Folder of the run, which need not exist.
 * @param epochs Number of epochs of its configuration.
 * @returns The outcome; undefined if the run has not ended, or has another number of epochs.
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
