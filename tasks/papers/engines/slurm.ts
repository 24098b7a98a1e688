/** Runs the runs of a table as a Slurm job array. */
import { setTimeout } from "node:timers/promises";
import { readTextIfPresent, writeAtomically } from "../files.ts";
import { type Follow, hasEnded } from "./local.ts";
import { type TableRun, trainArguments } from "../tables/table.ts";

/** Resources of a job. */
export interface SlurmResources {
  /** Cores per run, at least 1. */
  readonly cpus: number;
  /** Memory per run, for example `4G`. */
  readonly memory: string;
  /** Time limit of a run, for example `1-12:00:00` (days, hours, minutes, seconds). */
  readonly time: string;
  /** Maximum number of parallel runs. Unlimited by default. */
  readonly jobs?: number;
  /** Additional options of `sbatch`, for example `--partition=long`. */
  readonly others?: readonly string[];
}

/** Files of a Slurm job array. */
export interface SlurmArray {
  /** Common path, without extensions, of the script, of the commands (one line per run) and of the job id. */
  readonly path: string;
  /** Working directory of the commands: the checkout. */
  readonly folder: string;
  /** Path on the nodes of Deno, or of the executable that contains the commands. */
  readonly deno: string;
  /** Words after `deno` that start a training, before the arguments of a run. */
  readonly train: readonly string[];
}

/** A word for a shell, in quotes if it needs them. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Number of times that a killed run is restarted. */
const restarts = 3;

/** The script of an array of `count` runs. */
export function slurmScript(count: number, array: SlurmArray, resources: SlurmResources): string {
  const { cpus, memory, time, jobs, others = [] } = resources;
  const name = array.path.split("/").at(-1)!;
  const options = [
    `--job-name=${name}`,
    `--array=1-${count}${jobs === undefined ? "" : `%${jobs}`}`,
    ...[`--cpus-per-task=${cpus}`, `--mem=${memory}`, `--time=${time}`, "--requeue"],
    // Slurm parses quotes like a shell.
    ...["--open-mode=append", `--output=${quoted(`${array.path}-%a.txt`)}`, ...others],
  ];
  return `#!/bin/bash
# The runs of ${name}: job n of the array executes line n of the file of commands.
${options.map((option) => `#SBATCH ${option}\n`).join("")}
deno=${quoted(array.deno)}
cd ${quoted(array.folder)} || exit
eval "$(sed -n "\${SLURM_ARRAY_TASK_ID}p" ${quoted(`${array.path}.commands`)})"
code=$?
# A killed run resumes from its checkpoint, for example after out of memory. A failed run would fail again.
if ((code > 128 && \${SLURM_RESTART_COUNT:-0} < ${restarts})); then
  # SLURM_JOB_ID of the last job is the id of the whole array.
  scontrol requeue "\${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit $code
`;
}

/** The commands of runs, one per line. */
export function slurmCommands(runs: readonly TableRun[], { train }: SlurmArray): string {
  const words = (run: TableRun) => [...train, ...trainArguments(run).map(quoted)];
  return runs.map((run) => `"$deno" ${words(run).join(" ")}\n`).join("");
}

/** Options of {@linkcode runOnSlurm}. After an abort the jobs continue. */
interface SlurmOptions extends Follow {
  readonly array: SlurmArray;
  readonly resources: SlurmResources;
  /** Called with the id of the job that is submitted or followed. */
  onStart(job: string): void;
}

/** Milliseconds between polls of the queue: initially, and after some minutes. */
const intervals = { first: 2000, last: 30_000 };

/** Number of consecutive polls that may fail, for example while the Slurm controller restarts. */
const unanswered = 20;

/**
 * Submits all incomplete runs as a job array and follows it to its end. If an earlier array is still queued,
 * follows it first, and then submits the runs that it did not contain.
 */
export async function runOnSlurm(runs: readonly TableRun[], options: SlurmOptions): Promise<void> {
  const { array, array: { path }, signal, onEnd, onStart } = options;
  const ended = await Promise.all(runs.map(hasEnded));
  const waiting = new Set(runs.filter((_, i) => !ended[i]));
  if (waiting.size === 0) return;
  const earlier = (await readTextIfPresent(`${path}.job`))?.trim();
  const job = earlier && await isQueued(earlier) ? earlier : await submit([...waiting], options);
  const commands = await readTextIfPresent(`${path}.commands`) ?? "";
  const isOfJob = (run: TableRun) => commands.includes(slurmCommands([run], array));
  onStart(job);
  let [interval, failures] = [intervals.first, 0];
  for (let isLast = false; !isLast && !signal?.aborted;) {
    try {
      isLast = !await isQueued(job);
      failures = 0;
    } catch (error) {
      if (++failures > unanswered) {
        throw new Error(
          `${(error as Error).message}; job ${job} continues; run the same command again to follow it`,
        );
      }
    }
    for (const run of waiting) {
      if (!await hasEnded(run) || !waiting.delete(run)) continue;
      await onEnd(run);
    }
    if (!isLast) await setTimeout(interval, undefined, { signal }).catch(() => {});
    interval = Math.min(intervals.last, 1.1 * interval);
  }
  if (signal?.aborted) return;
  const failed = [...waiting].filter(isOfJob);
  for (const run of failed) await onEnd(run, `no result of job ${job}: see ${path}-*.txt`);
  await runOnSlurm([...waiting].filter((run) => !isOfJob(run)), options);
}

async function submit(runs: readonly TableRun[], { array, resources }: SlurmOptions): Promise<string> {
  const { path } = array;
  await writeAtomically(`${path}.commands`, slurmCommands(runs, array));
  await writeAtomically(`${path}.sh`, slurmScript(runs.length, array, resources));
  const job = (await output("sbatch", "--parsable", `${path}.sh`)).trim().split(";")[0];
  await writeAtomically(`${path}.job`, `${job}\n`);
  return job;
}

/** Whether a job is pending or running. Slurm forgets jobs some minutes after they end. */
async function isQueued(job: string): Promise<boolean> {
  try {
    return (await output("squeue", "--noheader", "--jobs", job)).trim() !== "";
  } catch (error) {
    if ((error as Error).message.includes("Invalid job id")) return false;
    throw error;
  }
}

async function output(program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output()
    .catch((error) => {
      throw new Error(
        `${program} cannot be run (${error.message}): --engine slurm is for a node of a Slurm cluster`,
      );
    });
  const [text, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (code === 0) return text;
  throw new Error(`${program} ended with code ${code}: ${error.trim()}`);
}
