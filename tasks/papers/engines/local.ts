/** Runs the runs of a table as local processes. */
import { readOutcome } from "@weft/weft/train";
import { type TableRun, trainArguments } from "../tables/table.ts";

/** Abort signal and callback of an engine. */
export interface Follow {
  /** Once aborted, no more runs are started. */
  readonly signal?: AbortSignal;
  /** Called when a run has ended. `error` is the reason if the run has no outcome. */
  onEnd(run: TableRun, error?: string): Promise<void>;
}

/** Whether a run has completed all its epochs. */
export async function hasEnded({ folder, config }: TableRun): Promise<boolean> {
  return await readOutcome(folder, config.epochs) !== undefined;
}

/** Options of {@linkcode runLocally}. An abort stops running processes so that they can resume later. */
interface LocalOptions extends Follow {
  /** Number of parallel processes, at least 1. */
  readonly jobs: number;
  /** Program that trains, and its words before the arguments of a run. */
  readonly train: readonly string[];
}

/** Runs all incomplete runs, `jobs` at a time. A crash of one run does not affect the others. */
export async function runLocally(runs: readonly TableRun[], options: LocalOptions): Promise<void> {
  const { jobs, signal, onEnd } = options;
  const waiting = [...runs];
  const worker = async () => {
    for (let run = waiting.shift(); run && !signal?.aborted; run = waiting.shift()) {
      if (await hasEnded(run)) continue;
      const error = await trainProcess(run, options);
      await onEnd(run, await hasEnded(run) ? undefined : error);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/**
 * Runs one process of `deno task train`. If it fails, returns the last line of its output; the output is in
 * `output.txt` of the run's folder.
 */
async function trainProcess(run: TableRun, { signal, train }: LocalOptions): Promise<string> {
  const [program, ...before] = train;
  const process = new Deno.Command(program, {
    args: [...before, ...trainArguments(run)],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stop = () => process.kill("SIGINT");
  signal?.addEventListener("abort", stop);
  const { stdout, stderr, code, signal: killed } = await process.output();
  signal?.removeEventListener("abort", stop);
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  await Deno.mkdir(run.folder.path, { recursive: true });
  await Deno.writeTextFile(`${run.folder.path}/output.txt`, text, { append: true });
  if (killed) return `killed by ${killed}`;
  return text.trimEnd().split("\n").at(-1) || `ended with code ${code}`;
}
