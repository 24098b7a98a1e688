/** A run in training as a report. */
import { escapeText, formatDate, formatDuration, formatNumber } from "../charts/format.ts";
import { formatMeasure, measureName } from "../train/report/measure_names.ts";
import { reportPage, type RunState } from "../train/report/report.ts";
import type { Progress } from "../train/loop.ts";
import type { ViewedRun } from "./runs.ts";

/** Title and body of the page of a run. */
export function runPart(run: ViewedRun): { title: string; body: string } {
  const { progress, config, metrics } = run;
  const content = progress?.report ?? { config, metric: { name: "loss", mode: "min" } as const };
  const { title, body } = reportPage({ ...content, metrics, summary: run.summary }, stateOf(run));
  return { title, body: `${progressBar(run)}${body}` };
}

/** Finished part of the training, from 0 to 1; undefined before the first progress. */
export function finishedPart(
  { progress, metrics }: Pick<ViewedRun, "progress" | "metrics">,
): number | undefined {
  const { epochs, epoch } = progress ?? {};
  if (epochs === undefined) return undefined;
  const complete = metrics.length;
  const begun = epoch && epoch.epoch === complete + 1 ? epoch.batch / epoch.batches : 0;
  return Math.min(1, (complete + begun) / epochs);
}

function progressBar(run: ViewedRun): string {
  const finished = finishedPart(run);
  return finished === undefined
    ? ""
    : `<progress value="${finished.toFixed(4)}" aria-label="Finished part of the training"></progress>\n`;
}

function stateOf(run: ViewedRun): RunState | undefined {
  const { state, progress, failure, folder, config: { experiment } } = run;
  if (state === "failed") return { sentence: `Experiment ${experiment} failed: ${failure}`, tiles: [] };
  if (!progress) return undefined;
  const { device, planning, time, memory, epoch } = progress;
  const tiles: RunState["tiles"] = [
    ...(epoch ? epochTiles(epoch, progress.epochs) : []),
    ...(memory === undefined ? [] : [["peak memory", `${formatNumber(memory / 1e6, 3)} MB`] as const]),
  ];
  const activity = planning ?? "";
  const sentence = state === "silent"
    ? `Experiment ${experiment}, no update since ${
      formatDate(Date.parse(time) / 1000)
    } UTC: the process has ended, or ` +
      `a step takes long. deno task train --resume ${folder.path} continues the run.`
    : `Experiment ${experiment}, in training on ${device}.${activity ? ` ${activity}` : ""}`;
  return { sentence, tiles };
}

function epochTiles({ epoch, measures, samplesPerSecond, secondsLeft }: Progress, epochs?: number) {
  return [
    ["epoch", epochs === undefined ? `${epoch}` : `${epoch} of ${epochs}`],
    ["time left", formatDuration(secondsLeft)],
    ["samples per second", formatNumber(samplesPerSecond, 3)],
    ...Object.entries(measures).map(([name, value]) =>
      [`training ${measureName(name)} of epoch ${epoch}`, formatMeasure(name, value)] as const
    ),
  ] as const;
}

/** State of a run in a word or two, with the finished part. */
export function stateText(run: ViewedRun): string {
  const finished = finishedPart(run);
  return run.state === "training" && finished !== undefined
    ? `training, ${Math.floor(100 * finished)} %`
    : run.state;
}

/** Sentence without a run. */
export const noRuns = (folder: string): string =>
  `<p>No run in ${escapeText(folder)}. deno task train starts one, and this page shows it.</p>`;
