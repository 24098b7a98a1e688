/** Progress of a run in training: `progress.json`. The file exists while a process trains, and after a kill. */
import type { Section } from "../../charts/section.ts";
import { readTextIfPresent, removeIfPresent, writeAtomically } from "../../files/disk.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import { memoryFile } from "../../files/memory.ts";
import { platform } from "../../platform/current.ts";
import type { Progress, TrainOptions } from "../loop.ts";
import type { ReportContent } from "../report/report.ts";
import type { RunFolder } from "./run_folder.ts";

/** The part of a report that is known before training. */
export type StartedReport = Omit<ReportContent, "metrics" | "summary" | "verdict" | "verdictMeasure">;

/** Progress of a run in training. */
export interface RunProgress {
  /** Time of the file in ISO 8601, such as `2026-01-31T12:00:00.000Z`. */
  readonly time: string;
  /** Name of the processor or the GPU adapter. */
  readonly device: string;
  /** Peak memory of the process so far, in bytes. */
  readonly memory?: number;
  /** Number of epochs, when training has started. */
  readonly epochs?: number;
  /** The last line about the search for settings before training. */
  readonly planning?: string;
  /** Progress of the current epoch. */
  readonly epoch?: Progress;
  /** The report so far. Its sections are examples of predictions. */
  readonly report: StartedReport;
}

/** Callbacks of training that {@linkcode ProgressFile.following} extends. */
type Callbacks = Pick<TrainOptions, "signal" | "onLoss" | "onEpoch" | "onProgress">;

/** The progress file of a run. Disposing removes the file. */
export interface ProgressFile extends AsyncDisposable {
  /** Changes the content. The file follows within {@linkcode interval} of an update. */
  update(change: Partial<RunProgress>): void;
  /** Extends a callback for lines about the search for settings. */
  planning(onLine?: (line: string) => void): (line: string) => void;
  /** Extends the callbacks of training. @param examples Makes sections of predictions after an epoch. */
  following(callbacks: Callbacks, examples?: () => Promise<readonly Section[]>): Callbacks;
}

/** Minimum time between two writes, in milliseconds. */
const interval = 1000;

/** Maximum share of the training time for examples. */
const examplesShare = 0.05;

/** Opens the progress file of a run. It is not written for a folder in memory. */
export async function openProgress(
  folder: RunFolder,
  start: Omit<RunProgress, "time">,
): Promise<ProgressFile> {
  const path = folder.progress;
  const isWritten = memoryFile(path) === undefined;
  let content = start;
  let [writing, isWriting, last] = [Promise.resolve(), false, -Infinity];
  const write = async () => {
    const full: RunProgress = { ...content, time: new Date().toISOString(), memory: platform.peakMemory?.() };
    // A full disk must not stop training here. Writing a checkpoint reports the error.
    await writeAtomically(path, JSON.stringify(full, withoutViews)).catch(() => {});
    isWriting = false;
  };
  const update = (change: Partial<RunProgress>) => {
    content = { ...content, ...change };
    if (!isWritten || isWriting || performance.now() - last < interval) return;
    [isWriting, last] = [true, performance.now()];
    writing = write();
  };
  update({});
  // Later writes need turns of the event loop, which is rare in a search for settings.
  await writing;
  return {
    update,
    planning: (onLine) => (line) => {
      update({ planning: line });
      onLine?.(line);
    },
    following: ({ onEpoch, onProgress, ...callbacks }, examples) => {
      let [spent, due] = [0, performance.now()];
      return {
        ...callbacks,
        onProgress(epoch) {
          update({ epoch });
          onProgress?.(epoch);
        },
        async onEpoch(metrics) {
          await onEpoch?.(metrics);
          const now = performance.now();
          if (!examples || now < due) return update({});
          const sections = await examples();
          spent = performance.now() - now;
          due = performance.now() + spent / examplesShare;
          update({ report: { ...content.report, sections } });
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await writing;
      if (isWritten) await removeIfPresent(path);
    },
  };
}

/** Writes typed arrays of charts as arrays. */
function withoutViews(_name: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>) : value;
}

/** Reads the progress of a run. Undefined if no process trains it. */
export async function readProgress({ progress }: RunFolder): Promise<RunProgress | undefined> {
  const content = withNaN(parseJson(await readTextIfPresent(progress) ?? ""));
  if (!isRecord(content) || !isRecord(content.report)) return undefined;
  const { report: { config, metric } } = content;
  return isRecord(config) && isRecord(metric) ? content as unknown as RunProgress : undefined;
}

/** Restores the numbers that JSON writes as null, such as missing values of charts. */
function withNaN(value: unknown): unknown {
  if (value === null) return NaN;
  if (Array.isArray(value)) return value.map(withNaN);
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withNaN(inner)]))
    : value;
}
