/** Runs of a table as processes on this machine. */
import { trainWords } from "../../../src/commands/command.ts";
import { readOutcome } from "../../../src/train/run_once.ts";
import { type TableRun, trainArguments } from "../tables/table.ts";
import { makeFolder } from "../../../src/files/disk.ts";

/** Signal and callback of an engine that makes runs. */
export interface Follow {
  /** Begins no more of them when it is aborted. */
  readonly signal?: AbortSignal;
  /** Called when a run has ended: `error` is why it has no outcome. */
  onEnd(run: TableRun, error?: string): Promise<void>;
}

/** Whether a run has ended with all its epochs. */
export async function isMade({ folder, config }: TableRun): Promise<boolean> {
  return await readOutcome(folder, config.epochs) !== undefined;
}

/** Options of {@linkcode runLocally}; an abort ends those that run so that they can go on later. */
interface LocalOptions extends Follow {
  /** Number of processes at a time, at least 1. */
  readonly jobs: number;
  /** Command line of `deno task train`, before its arguments. */
  readonly train?: readonly string[];
}

/** Makes those runs that have not ended, as many at a time as `jobs`. One that crashes costs no other. */
export async function runLocally(runs: readonly TableRun[], options: LocalOptions): Promise<void> {
  const { jobs, signal, onEnd } = options;
  const waiting = [...runs];
  const worker = async () => {
    for (let run = waiting.shift(); run && !signal?.aborted; run = waiting.shift()) {
      if (await isMade(run)) continue;
      const error = await trainProcess(run, options);
      await onEnd(run, await isMade(run) ? undefined : error);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** One process of `deno task train`: the last line of what it says, in `output.txt` of the run's folder, if it fails. */
async function trainProcess(run: TableRun, { signal, train }: LocalOptions): Promise<string> {
  const [program, ...before] = train ?? [Deno.execPath(), ...trainWords];
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
  await makeFolder(run.folder.path);
  await Deno.writeTextFile(`${run.folder.path}/output.txt`, text, { append: true });
  if (killed) return `killed by ${killed}`;
  return text.trimEnd().split("\n").at(-1) || `ended with code ${code}`;
}
