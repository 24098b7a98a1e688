/**
 * The targets of attacks: small data sets, and runs on them with the output of their commands without an
 * attack.
 */
import { readSafetensors } from "../../src/files/safetensors.ts";
import { makeCharacters, onlyRun } from "../tasks/command_line.ts";
import { zipFile } from "../data/zip_file.ts";
import { type Call, callHere, timelessOutput } from "./commands.ts";
import { trainServed } from "./serving/process.ts";

/** A run under attack. */
export interface AttackedRun {
  readonly name: string;
  /** Its folder. Cases work on copies. */
  readonly path: string;
  /** Commands on the run, with their results. */
  readonly uses: readonly Use[];
}

/** A command on a run. */
export interface Use {
  readonly command: Call["command"];
  /** Arguments after the run's folder. */
  readonly args: readonly string[];
  readonly result: Result;
}

/** The output of a command, and the resulting files in the run's folder. */
interface Result {
  readonly timelessOutput: string;
  readonly state: string;
}

/** All targets. */
export interface World {
  readonly folder: string;
  /** A folder with a problem of the UEA archive, and the same as a zip file. */
  readonly problem: string;
  readonly archive: string;
  /** A training table, and a table without labels. */
  readonly table: string;
  readonly unlabelled: string;
  readonly runs: readonly AttackedRun[];
  /** A run whose model reads streams, for servers. */
  readonly served: string;
  /** A run that has just started, and its result after {@linkcode killedEpochs}. */
  readonly started: AttackedRun;
}

/** Number of epochs of a run that is killed. */
const killedEpochs = 30;

const sizes = ["--device", "cpu", "--batch-size", "4", "--hidden", "4"];

/** Options of a training on the archive or the table that takes milliseconds. */
export const shortTraining: readonly string[] = [...sizes, "--epochs", "1"];

/** The command call of a use, on a run's folder or on a copy of it. */
export function callOf({ command, args }: Omit<Use, "result">, path: string): Call {
  return { command, args: command === "train" ? ["--resume", path, ...args] : [path, ...args] };
}

/** Creates all targets in an empty folder. */
export async function makeWorld(folder: string): Promise<World> {
  const problem = await makeCharacters(folder);
  const archive = `${folder}/characters.zip`;
  await Deno.writeFile(archive, await zipOf(problem));
  const [table, unlabelled] = [`${folder}/table.csv`, `${folder}/unlabelled.csv`];
  await Deno.writeTextFile(table, tableText(24, true));
  await Deno.writeTextFile(unlabelled, tableText(6, false));

  const start = async (name: string, experiment: string, ...options: string[]) => {
    const out = `${folder}/${name}`;
    await expectSuccess({ command: "train", args: [experiment, ...sizes, ...options, "--out", out] });
    return await onlyRun(out, experiment);
  };
  const evaluation = { command: "evaluate", args: ["--device", "cpu"] } as const;
  const resumption = (epochs: number) =>
    ({ command: "train", args: ["--device", "cpu", "--epochs", `${epochs}`] }) as const;
  const onArchive = ["character-trajectories", "--data", problem] as const;
  const onTable = ["own-series", "--data", table] as const;
  const characters = await start("characters", ...onArchive, "--epochs", "3");
  const series = await start("series", ...onTable, "--epochs", "2");
  const waves = await start("waves", "sine", "--epochs", "1", "--batch-size", "100");
  const started = await start("started", ...onArchive, "--epochs", "1");
  const stopped = await stopInMiddle(`${folder}/stopped`, characters);
  const interrupted = await attacked("stopped", stopped, [resumption(3)]);
  if (interrupted.uses[0].result.state !== await stateOf(characters)) {
    throw new Error("a run stopped in the middle of an epoch gives other results");
  }
  const prediction = { command: "predict", args: [unlabelled, "--device", "cpu"] } as const;
  await Deno.mkdir(`${folder}/served`);
  return {
    folder,
    problem,
    archive,
    table,
    unlabelled,
    served: await trainServed(`${folder}/served`),
    runs: [
      await attacked("characters", characters, [evaluation, resumption(3), resumption(4)]),
      interrupted,
      await attacked("series", series, [evaluation, prediction, resumption(3)]),
      await attacked("waves", waves, [evaluation]),
    ],
    started: await attacked("started", started, [resumption(killedEpochs)]),
  };
}

/** A run with the results of its uses. */
async function attacked(
  name: string,
  path: string,
  uses: readonly Omit<Use, "result">[],
): Promise<AttackedRun> {
  const known: Use[] = [];
  for (const use of uses) {
    const copy = `${path}-copy`;
    await copyFolder(path, copy);
    const outcome = await expectSuccess(callOf(use, copy));
    known.push({ ...use, result: { timelessOutput: timelessOutput(outcome), state: await stateOf(copy) } });
    await Deno.remove(copy, { recursive: true });
  }
  return { name, path, uses: known };
}

async function expectSuccess(call: Call) {
  const outcome = await callHere(call);
  if (outcome.code === 0) return outcome;
  throw new Error(`${call.command} ${call.args.join(" ")}: status ${outcome.code}: ${outcome.stderr}`);
}

/** Copies a run, and resumes it until Ctrl-C in the middle of an epoch. */
async function stopInMiddle(path: string, run: string): Promise<string> {
  const config = JSON.parse(await Deno.readTextFile(`${run}/config.json`));
  const { runFolder, execute } = await import("../../src/train/mod.ts");
  const { startRun } = await import("../runs.ts");
  const started = await startRun(config, path);
  const controller = new AbortController();
  const { schedule } = started.task;
  // Called before each step.
  const stopping = (step: number) => {
    if (step === 9) controller.abort();
    return schedule?.(step) ?? 1;
  };
  const task = { ...started.task, schedule: stopping };
  const { interrupted } = await execute({ ...started, task }, { signal: controller.signal });
  if (!interrupted) throw new Error("the run completed before it was stopped");
  return runFolder(started.folder.path).path;
}

/** Everything in a run's folder that must not depend on interruptions, as text. */
export async function stateOf(path: string): Promise<string> {
  const lines = (await Deno.readTextFile(`${path}/metrics.jsonl`)).trimEnd().split("\n");
  const metrics = lines.map((line) => ({ ...JSON.parse(line), seconds: 0 }));
  const files = await Promise.all(["last", "best"].map(async (name) => {
    const { tensors } = await readSafetensors(`${path}/${name}.safetensors`);
    return Object.entries(tensors).map(([name, { values }]) => [name, ...values]);
  }));
  return JSON.stringify([metrics, files]);
}

/** Copies a folder of files. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
}

/** The files of a folder as a zip archive. */
async function zipOf(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  return zipFile(
    await Promise.all(names.map(async (name) => ({
      name,
      content: await Deno.readFile(`${folder}/${name}`),
    }))),
  );
}

/**
 * Rising and falling series at irregular times with two channels and missing values. Series without labels
 * are longer.
 */
export function tableText(count: number, isLabelled: boolean): string {
  const rows = Array.from(
    { length: count },
    (_, i) =>
      Array.from({ length: 5 + (isLabelled ? 1 : 3) * (i % 3) }, (_, t) => {
        const value = (t + i) % 5 === 0 && t > 0 ? "" : ((i % 2 ? t : -t) + 0.1 * (i % 4)).toFixed(2);
        const fields = [
          `patient ${i}`,
          (t + 0.1 * (t % 3)).toFixed(1),
          value,
          (0.9 + 0.01 * ((i + t) % 7)).toFixed(2),
        ];
        return [...fields, ...(isLabelled ? [i % 2 ? "up" : "down"] : [])].join(",");
      }),
  ).flat();
  const header = ["series", "time", "height", "oxygen", ...(isLabelled ? ["label"] : [])];
  return `${header.join(",")}\n${rows.join("\n")}\n`;
}
