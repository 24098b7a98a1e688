/** A run's folder: its configuration, metrics, checkpoints and report. */
import { chainDigest } from "./checkpoint.ts";
import { exists, makeFolder, readTextIfPresent, whyNoFolder, writeAtomically } from "../files/disk.ts";
import { isCount, isNumber, isNumbers, isRecord, parseJson } from "../files/json.ts";

/** Paths in a run's folder. */
export interface RunFolder {
  /** The folder itself. */
  readonly path: string;
  /** Configuration that the run was started with, `config.json`. */
  readonly config: string;
  /** Record of the training data, `data.json`. */
  readonly data: string;
  /** A line of JSON for each complete epoch, `metrics.jsonl`. */
  readonly metrics: string;
  /** Checkpoint to go on from, `last.safetensors`. */
  readonly last: string;
  /** Weights of the best epoch, `best.safetensors`. */
  readonly best: string;
  /** Test measures of a run that has ended, `summary.json`. */
  readonly summary: string;
  /** Why a run has no summary and will not have one, `failure.json`. */
  readonly failure: string;
  /** A line of JSON for each start of a run that {@linkcode runOnce} makes, `starts.jsonl`. */
  readonly starts: string;
  /** The run as a web page, `report.html`. */
  readonly report: string;
}

/** One line of `metrics.jsonl`. */
export interface EpochMetrics {
  /** Number of the epoch, from 1. */
  readonly epoch: number;
  /** Steps of the optimiser up to the epoch's end. */
  readonly step: number;
  /** Learning rate of the epoch's last step. */
  readonly learningRate: number;
  /** Means of the measures over the training samples, each taken before the step that learned from it. */
  readonly train: Readonly<Record<string, number>>;
  /** Means of the measures over the validation samples, at the epoch's end. */
  readonly validation: Readonly<Record<string, number>>;
  /** Seconds since training started, without the time between an interruption and its resumption. */
  readonly seconds: number;
}

/**
 * The paths of a run.
 *
 * @param path The run's folder, which need not exist.
 */
export function runFolder(path: string): RunFolder {
  const own = path.replace(/(?<=.)\/+$/, "");
  return {
    path: own,
    config: `${own}/config.json`,
    data: `${own}/data.json`,
    metrics: `${own}/metrics.jsonl`,
    last: `${own}/last.safetensors`,
    best: `${own}/best.safetensors`,
    summary: `${own}/summary.json`,
    failure: `${own}/failure.json`,
    starts: `${own}/starts.jsonl`,
    report: `${own}/report.html`,
  };
}

/** The paths of a run, or of the newest in a folder of runs, by their names; of a run that is not there if there is neither. */
export async function findRun(path: string): Promise<RunFolder> {
  const own = runFolder(path);
  const isRun = (folder: RunFolder) => exists(folder.config);
  if (await isRun(own)) return own;
  if (await whyNoFolder(own.path)) return own;
  const entries = await Array.fromAsync(Deno.readDir(own.path));
  const names = entries.filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  for (const name of names.sort(new Intl.Collator("en", { numeric: true }).compare).reverse()) {
    const run = runFolder(`${own.path}/${name}`);
    if (await isRun(run)) return run;
  }
  return own;
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

/** Writes an object so that people can read it. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeAtomically(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/**
 * Keeps other processes from training in a folder until it is disposed of. The lock is the operating system's and ends with
 * the process, however that ends; the file in which it lies may stay behind and keeps nobody out.
 *
 * @param options `wait`: until another process gives it back, instead of an error.
 * @throws {Error} If another process has it.
 */
export async function lockRun(
  { path }: RunFolder,
  { wait = false }: { wait?: boolean } = {},
): Promise<AsyncDisposable> {
  const lock = `${path}/lock`;
  for (;;) {
    const file = await Deno.open(lock, { write: true, create: true });
    if (wait) await file.lock(true);
    else if (!await file.tryLock(true)) {
      file.close();
      throw new Error(`${path}: another process trains this run; wait for its end, or stop it`);
    }
    // The process that had it before may have removed the file between the two calls: then the lock keeps out nobody.
    const now = await Deno.stat(lock).catch(() => undefined);
    if (now?.ino === (await file.stat()).ino) {
      return {
        async [Symbol.asyncDispose]() {
          await Deno.remove(lock);
          file.close();
        },
      };
    }
    file.close();
  }
}

/**
 * The metrics of a run's first epochs, which alone are left in the file. Lines after them are those of an epoch that was
 * cut off, perhaps half written, and do not count.
 *
 * @param digest Result of {@linkcode chainDigest} over those lines, from when they were written.
 * @throws {Error} If a line among them is missing or damaged.
 */
export async function truncateMetrics(
  folder: RunFolder,
  epochs: number,
  digest: string,
): Promise<EpochMetrics[]> {
  const lines = (await readTextIfPresent(folder.metrics) ?? "").split("\n").slice(0, epochs);
  const metrics: EpochMetrics[] = [];
  let found = "";
  for (let i = 0; i < epochs; i++) {
    const line = parseJson(lines[i] ?? "");
    if (!isMetrics(line) || line.epoch !== i + 1) {
      throw new Error(`${folder.metrics}, line ${i + 1}: expected the metrics of epoch ${i + 1} in JSON`);
    }
    metrics.push(line);
    found = await chainDigest(found, lines[i]);
  }
  if (found !== digest) {
    throw new Error(
      `${folder.metrics}: its first ${epochs} lines are not those that ${folder.last} was saved with`,
    );
  }
  await writeAtomically(folder.metrics, lines.map((line) => `${line}\n`).join(""));
  return metrics;
}

function isMetrics(value: unknown): value is EpochMetrics {
  return isRecord(value) && isCount(value.epoch, 1) && isCount(value.step) &&
    [value.learningRate, value.seconds].every(isNumber) && [value.train, value.validation].every(isNumbers);
}
