/** A run's folder: what it was asked to do, its metrics, its checkpoints and its report. */
import { readTextIfPresent, writeAtomically } from "./files.ts";

/** Paths in a run's folder. */
export interface RunFolder {
  readonly path: string;
  readonly config: string;
  readonly metrics: string;
  readonly last: string;
  readonly best: string;
  readonly summary: string;
  readonly report: string;
}

/** One line of `metrics.jsonl`. */
export interface EpochMetrics {
  readonly epoch: number;
  readonly step: number;
  readonly learningRate: number;
  readonly train: Readonly<Record<string, number>>;
  readonly validation: Readonly<Record<string, number>>;
  /** Since the start, without the time between an interruption and its resumption. */
  readonly seconds: number;
}

/** The paths of a run. */
export function runFolder(path: string): RunFolder {
  const own = path.replace(/(?<=.)\/+$/, "");
  return {
    path: own,
    config: `${own}/config.json`,
    metrics: `${own}/metrics.jsonl`,
    last: `${own}/last.safetensors`,
    best: `${own}/best.safetensors`,
    summary: `${own}/summary.json`,
    report: `${own}/report.html`,
  };
}

/** Makes the folder `<out>/<experiment>/<time>` of a new run, and writes its configuration. */
export async function createRun(
  out: string,
  experiment: string,
  config: unknown,
  now = new Date(),
): Promise<RunFolder> {
  const parent = `${out.replace(/(?<=.)\/+$/, "")}/${experiment}`;
  await Deno.mkdir(parent, { recursive: true });
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

/** The configuration of a run. @throws {Error} If there is none, or it is no JSON object. */
export async function readConfig(folder: RunFolder): Promise<Record<string, unknown>> {
  const text = await readTextIfPresent(folder.config);
  if (text === undefined) {
    throw new Error(
      `${folder.path}: not a run's folder, since it has no config.json; expected one as runs/<experiment>/<time>`,
    );
  }
  try {
    const config = JSON.parse(text);
    if (typeof config === "object" && config !== null && !Array.isArray(config)) return config;
  } catch { /* refused below */ }
  throw new Error(`${folder.config}: damaged: expected a JSON object`);
}

/** Adds a line to a run's metrics. */
export async function appendMetrics(folder: RunFolder, metrics: EpochMetrics): Promise<void> {
  await Deno.writeTextFile(folder.metrics, `${JSON.stringify(metrics)}\n`, { append: true });
}

/**
 * The metrics of a run's first epochs. Lines after them are those of an epoch that was cut off, perhaps half written, and do
 * not count.
 *
 * @throws {Error} If a line among them is missing or damaged.
 */
export async function readMetrics(folder: RunFolder, epochs: number): Promise<EpochMetrics[]> {
  const lines = (await readTextIfPresent(folder.metrics) ?? "").split("\n").slice(0, epochs);
  return Array.from({ length: epochs }, (_, i) => {
    try {
      const metrics: EpochMetrics = JSON.parse(lines[i]);
      if (metrics.epoch === i + 1) return metrics;
    } catch { /* refused below */ }
    throw new Error(`${folder.metrics}, line ${i + 1}: expected the metrics of epoch ${i + 1} in JSON`);
  });
}

/** Puts a run's metrics back to what they were when some epochs were complete. */
export async function truncateMetrics(folder: RunFolder, epochs: number): Promise<EpochMetrics[]> {
  const metrics = await readMetrics(folder, epochs);
  await writeAtomically(folder.metrics, metrics.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return metrics;
}
