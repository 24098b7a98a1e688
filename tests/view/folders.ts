/** Folders of runs, as training writes them. */
import { createRun, type RunFolder, writeJson } from "../../src/train/run/run_folder.ts";
import type { RunProgress } from "../../src/train/run/run_progress.ts";
import type { EpochMetrics } from "../../src/train/report/epoch_metrics.ts";

const config = { experiment: "tones", device: "cpu", seed: 0, batchSize: 8, epochs: 4, learningRate: 0.1 };

/** Metrics of an epoch. */
export function metricsOf(epoch: number, loss = 1 / epoch): EpochMetrics {
  const measures = { loss, accuracy: 1 - loss / 2 };
  return { epoch, step: 5 * epoch, learningRate: 0.1, train: measures, validation: measures, seconds: epoch };
}

/** Progress of a run in an epoch. */
export function progressOf(epoch: number, time = new Date()): RunProgress {
  return {
    time: time.toISOString(),
    device: "a processor",
    memory: 123e6,
    epochs: 4,
    epoch: {
      ...{ epoch, batch: 1, batches: 2, measures: { loss: 0.5 } },
      ...{ samplesPerSecond: 1000, secondsLeft: 90 },
    },
    report: { config, metric: { name: "accuracy", mode: "max" }, description: ["twelve tones"] },
  };
}

/** Content of a run's folder. */
interface RunContent {
  readonly settings?: Record<string, unknown>;
  readonly epochs?: number;
  readonly progress?: RunProgress;
  readonly accuracy?: number;
  readonly failure?: string;
  readonly report?: string;
}

/** Makes a run in a folder of runs. */
export async function makeRun(out: string, content: RunContent = {}): Promise<RunFolder> {
  const { settings = {}, epochs = 0, progress, accuracy, failure, report } = content;
  const folder = await createRun(out, "tones", { ...config, ...settings });
  const lines = Array.from({ length: epochs }, (_, i) => `${JSON.stringify(metricsOf(i + 1))}\n`);
  await Deno.writeTextFile(folder.metrics, lines.join(""));
  if (progress) await writeJson(folder.progress, progress);
  if (failure) await writeJson(folder.failure, { reason: failure });
  if (report) await Deno.writeTextFile(folder.report, report);
  if (accuracy !== undefined) {
    const test = { accuracy };
    await writeJson(folder.summary, { experiment: "tones", test, bestEpoch: 1, parameters: 7, seconds: 3 });
  }
  return folder;
}

/** The name of a run in its folder of runs. */
export function nameOf({ path }: RunFolder): string {
  return path.split("/").slice(-2).join("/");
}
