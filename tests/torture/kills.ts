/**
 * Trainings that are killed repeatedly, on one and on two threads. They must reach the results of an
 * uninterrupted training.
 */
import { basename } from "node:path";
import { exists, readTextIfPresent } from "../../src/files/disk.ts";
import { readSafetensors } from "../../src/files/safetensors.ts";
import { onlyRun } from "../tasks/command_line.ts";
import { type Choices, choicesOf } from "./choices.ts";
import { signal } from "./commands.ts";
import { stateOf, tableText } from "./world.ts";

/** Experiments, with options for a duration of about one second. */
const trainings = {
  spirals: ["--epochs", "12", "--batch-size", "64", "--hidden", "4"],
  "own-series": ["--epochs", "100", "--batch-size", "4", "--hidden", "4", "--data", "table.csv"],
  sine: ["--epochs", "8", "--batch-size", "64", "--hidden", "4"],
};
type Training = keyof typeof trainings;

/** The files that a training writes, in this order. */
const files = ["config.json", "data.json", "best", "metrics.jsonl", "last", "summary.json", "report.html"];

/** Results of killing a training. */
interface KillReport {
  readonly training: string;
  readonly threads: number;
  /** Number of kills in each phase. */
  readonly phases: Readonly<Record<string, number>>;
  /** Number of trainings that completed. */
  readonly ended: number;
  /** The fault of the last training, if any. */
  readonly fault?: string;
}

/** Kills each training a number of times on each number of threads, and prints the results. */
export async function killTrainings(
  kills: number,
  seed: number,
  onReport: (report: KillReport) => void,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kills" });
  try {
    await Deno.writeTextFile(`${folder}/table.csv`, tableText(24, true));
    for (const [i, training] of (Object.keys(trainings) as Training[]).entries()) {
      const uninterrupted = await trainUninterrupted(training, folder);
      await Promise.all([1, 2].map(async (threads) => {
        const killed = {
          training,
          threads,
          folder,
          uninterrupted,
          choices: choicesOf(seed, 2 * i + threads),
        };
        onReport({ training, threads, ...await killTraining(killed, kills) });
      }));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A training without interruption. */
interface Uninterrupted {
  readonly numbers: string;
  readonly milliseconds: number;
}

async function trainUninterrupted(training: Training, folder: string): Promise<Uninterrupted> {
  const out = `${folder}/${training}`;
  const start = performance.now();
  const { code, stderr } = await spawn(folder, 2, newRun(training, out)).output();
  if (code !== 0) throw new Error(`${training}: ${new TextDecoder().decode(stderr)}`);
  return { milliseconds: performance.now() - start, numbers: await numbersOf(await onlyRun(out, training)) };
}

interface Killed {
  readonly training: Training;
  readonly threads: number;
  readonly folder: string;
  readonly uninterrupted: Uninterrupted;
  readonly choices: Choices;
}

async function killTraining(
  { training, threads, folder, uninterrupted, choices }: Killed,
  kills: number,
): Promise<Omit<KillReport, "training" | "threads">> {
  const phases: Record<string, number> = {};
  let left = kills;
  for (let ended = 0;; ended++) {
    const out = `${folder}/${training}-${threads}-${ended}`;
    for (;;) {
      await Deno.mkdir(out, { recursive: true });
      const started = await findStartedRun(training, out);
      const start = Date.now();
      const process = spawn(folder, threads, started ? ["--resume", started] : newRun(training, out));
      const killer = left > 0 ? killLater(process, out, uninterrupted.milliseconds, choices) : undefined;
      const { code, signal, stderr } = await process.output();
      killer?.[Symbol.dispose]();
      if (code === 0) break;
      if (signal !== "SIGKILL") return { phases, ended, fault: new TextDecoder().decode(stderr) };
      const phase = await phaseOf(await findStartedRun(training, out), start);
      phases[phase] = (phases[phase] ?? 0) + 1;
      left--;
    }
    if (await numbersOf(await onlyRun(out, training)) !== uninterrupted.numbers) {
      return { phases, ended, fault: "other results than without kills" };
    }
    if (left === 0) return { phases, ended: ended + 1 };
  }
}

function spawn(folder: string, threads: number, args: readonly string[]): Deno.ChildProcess {
  const entry = new URL("train_on_threads.ts", import.meta.url).pathname;
  const permissions = ["--allow-read", "--allow-write", "--allow-env=XDG_RUNTIME_DIR"];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", ...permissions, entry, `${threads}`, ...args],
    cwd: folder,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

function newRun(training: Training, out: string): string[] {
  return [training, ...trainings[training], "--device", "cpu", "--out", out];
}

/** The run in a folder of runs, or `undefined` if the process was killed before it wrote a configuration. */
async function findStartedRun(training: Training, out: string): Promise<string | undefined> {
  const run = await onlyRun(out, training).catch(() => undefined);
  if (run && await exists(`${run}/config.json`)) return run;
  if (run) await Deno.remove(run, { recursive: true });
  return undefined;
}

/** Kills a process at a random time, or while it writes a file, unless it ends before. */
function killLater(process: Deno.ChildProcess, out: string, longest: number, choices: Choices): Disposable {
  if (choices.chance(0.5)) {
    const timer = setTimeout(() => signal(process, "SIGKILL"), choices.below(longest));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }
  const file = choices.of(files);
  let times = 1 + choices.below(3);
  const watcher = Deno.watchFs(out);
  const watch = async () => {
    for await (const { paths } of watcher) {
      if (paths.some((path) => basename(path).startsWith(file)) && --times === 0) process.kill("SIGKILL");
    }
  };
  // The process may have ended after the write.
  watch().catch(() => {});
  return { [Symbol.dispose]: () => watcher.close() };
}

/** The phase in which a process was killed, derived from its start time and the files that it left. */
async function phaseOf(run: string | undefined, start: number): Promise<string> {
  if (!run || !await exists(`${run}/last.safetensors`)) return "before the first checkpoint";
  for await (const { name } of Deno.readDir(run)) {
    const { mtime } = await Deno.stat(`${run}/${name}`);
    if (name.endsWith(".tmp") && mtime!.getTime() >= start) return "while it wrote a file";
  }
  if (await exists(`${run}/summary.json`)) return "after the summary";
  const { metadata } = await readSafetensors(`${run}/last.safetensors`);
  const { epochs } = JSON.parse(await Deno.readTextFile(`${run}/config.json`));
  const lines = (await readTextIfPresent(`${run}/metrics.jsonl`) ?? "").split("\n").length - 1;
  const { epoch } = JSON.parse(metadata["weft.position"]);
  if (epoch === epochs) return "before the summary";
  return lines > epoch ? "between metrics and checkpoint" : "in an epoch";
}

/**
 * Metrics, weights, optimizer state and summary of a run, without everything that depends on time and
 * threads.
 */
async function numbersOf(run: string): Promise<string> {
  const summary = JSON.parse(await Deno.readTextFile(`${run}/summary.json`));
  return await stateOf(run) +
    JSON.stringify({ ...summary, seconds: 0, peakMemory: 0, deviceDescription: "" });
}
