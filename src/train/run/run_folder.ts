/** Folder of a run, with its configuration, metrics, checkpoints and report. */
import { chainDigest } from "./checkpoint.ts";
import {
  exists,
  makeFolder,
  namesIn,
  readTextIfPresent,
  removeIfPresent,
  whyNoFolder,
  writeAtomically,
} from "../../files/disk.ts";
import { parseJson } from "../../files/json.ts";
import { displayAs } from "../../charts/display_symbol.ts";
import { type EpochMetrics, isMetrics } from "../report/epoch_metrics.ts";

/** Paths in a run's folder. */
export interface RunFolder {
  /** The folder itself. */
  readonly path: string;
  /** Original configuration of the run, `config.json`. */
  readonly config: string;
  /** Record of the training data, `data.json`. */
  readonly data: string;
  /** Metrics of each complete epoch, one line of JSON per epoch, `metrics.jsonl`. */
  readonly metrics: string;
  /** Checkpoint for resuming, `last.safetensors`. */
  readonly last: string;
  /** Weights of the best epoch, `best.safetensors`. */
  readonly best: string;
  /** Test measures of a completed run, `summary.json`. */
  readonly summary: string;
  /** Reason why a run failed for good, `failure.json`. */
  readonly failure: string;
  /** One line of JSON for each start of a run by {@linkcode runOnce}, `starts.jsonl`. */
  readonly starts: string;
  /** Progress of a run in training, `progress.json`. */
  readonly progress: string;
  /** Report of the run as a web page, `report.html`. */
  readonly report: string;
}

/**
 * Paths of a run. `deno jupyter` shows the curves of the run.
 *
 * @param path Folder of the run, which need not exist.
 */
export function runFolder(path: string): RunFolder {
  const folder = path.replace(/(?<=.)\/+$/, "");
  const paths: RunFolder = {
    path: folder,
    config: `${folder}/config.json`,
    data: `${folder}/data.json`,
    metrics: `${folder}/metrics.jsonl`,
    last: `${folder}/last.safetensors`,
    best: `${folder}/best.safetensors`,
    summary: `${folder}/summary.json`,
    failure: `${folder}/failure.json`,
    starts: `${folder}/starts.jsonl`,
    progress: `${folder}/progress.json`,
    report: `${folder}/report.html`,
  };
  return displayAs(paths, async () => {
    const { displayRun } = await import("../report/display_run.ts");
    return displayRun(await readMetrics(paths), folder);
  });
}

/**
 * Paths of the run in a folder, or of the newest run in a folder of runs, by name. If neither exists, returns
 * the paths for a run in the folder itself.
 */
export async function findRun(path: string): Promise<RunFolder> {
  const folder = runFolder(path);
  const isRun = ({ config }: RunFolder) => exists(config);
  if (await isRun(folder)) return folder;
  if (await whyNoFolder(folder.path)) return folder;
  const names = await namesIn(folder.path, "folder");
  for (const name of names.sort(new Intl.Collator("en", { numeric: true }).compare).reverse()) {
    const run = runFolder(`${folder.path}/${name}`);
    if (await isRun(run)) return run;
  }
  return folder;
}

/** Metrics of the complete epochs of a run. A last line that is incomplete is left out. */
export async function readMetrics({ metrics }: RunFolder): Promise<EpochMetrics[]> {
  const lines = (await readTextIfPresent(metrics) ?? "").split("\n").map((line) => parseJson(line));
  return lines.filter(isMetrics);
}

/** Makes the folder `<out>/<experiment>/<time>` of a new run, and writes its configuration. */
export async function createRun(
  out: string,
  experiment: string,
  config: unknown,
  now = new Date(),
): Promise<RunFolder> {
  const parent = `${out.replace(/(?<=.)\/+$/, "")}/${experiment}`;
  await makeFolder(parent);
  const time = now.toISOString().slice(0, 19).replaceAll(":", "-");
  for (let attempt = 1;; attempt++) {
    const folder = runFolder(`${parent}/${time}${attempt > 1 ? `-${attempt}` : ""}`);
    try {
      await Deno.mkdir(folder.path);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) continue;
      throw error;
    }
    await writeJson(folder.config, config);
    return folder;
  }
}

/** Writes an object as indented JSON. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeAtomically(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/**
 * Locks a folder against training by other processes until it is disposed. The operating system releases the
 * lock when the process ends for any reason. A remaining lock file does not block other processes.
 *
 * @param options `wait`: wait for another process to release the lock, instead of throwing.
 * @throws {Error} If another process has the lock.
 */
export async function lockRun(
  { path }: RunFolder,
  { wait = false }: { wait?: boolean } = {},
): Promise<AsyncDisposable> {
  const lock = `${path}/lock`;
  for (;;) {
    const existing = await Deno.stat(lock).catch(() => undefined);
    // Opening a pipe would wait for a reader.
    if (existing && !existing.isFile) throw new Error(`${lock}: not a file; remove it`);
    const file = await Deno.open(lock, { write: true, create: true });
    if (wait) await file.lock(true);
    else if (!await file.tryLock(true)) {
      file.close();
      throw new Error(`${path}: another process trains this run; wait for its end, or stop it`);
    }
    // The previous owner may have removed the file between open and lock. Such a lock has no effect: try
    // again.
    const now = await Deno.stat(lock).catch(() => undefined);
    if (now?.ino === (await file.stat()).ino) {
      return {
        async [Symbol.asyncDispose]() {
          try {
            // The folder may have been deleted while the run trained.
            await removeIfPresent(lock);
          } finally {
            file.close();
          }
        },
      };
    }
    file.close();
  }
}

/**
 * Whether there is a checkpoint to resume from. A run that was killed before its first checkpoint starts
 * again.
 *
 * @throws {Error} If the checkpoint is missing, but other files show that it existed.
 */
export async function hasCheckpoint(folder: RunFolder): Promise<boolean> {
  if (await exists(folder.last)) return true;
  for (const file of [folder.best, folder.summary, folder.metrics]) {
    if (await exists(file)) {
      throw new Error(
        `${folder.last}: no such file, but ${file} exists: without a checkpoint the run cannot be resumed`,
      );
    }
  }
  return false;
}

/**
 * Truncates the metrics file to the first epochs, and returns their metrics. Later lines belong to an
 * interrupted epoch, and may be incomplete.
 *
 * @param digest Result of {@linkcode chainDigest} over the first lines when they were written.
 * @throws {Error} If one of the first lines is missing or damaged.
 */
export async function truncateMetrics(
  folder: RunFolder,
  epochs: number,
  digest: string,
): Promise<EpochMetrics[]> {
  const lines = (await readTextIfPresent(folder.metrics) ?? "").split("\n").slice(0, epochs);
  const metrics: EpochMetrics[] = [];
  let digestOfLines = "";
  for (let i = 0; i < epochs; i++) {
    const line = parseJson(lines[i] ?? "");
    if (!isMetrics(line) || line.epoch !== i + 1) {
      throw new Error(`${folder.metrics}, line ${i + 1}: expected the metrics of epoch ${i + 1} in JSON`);
    }
    metrics.push(line);
    digestOfLines = await chainDigest(digestOfLines, lines[i]);
  }
  if (digestOfLines !== digest) {
    throw new Error(
      `${folder.metrics}: its first ${epochs} lines differ from the lines at the time of ${folder.last}`,
    );
  }
  await writeAtomically(folder.metrics, lines.map((line) => `${line}\n`).join(""));
  return metrics;
}
