/** Damaged, mixed and forged run folders. */
import { type HostTensor, readSafetensors, writeSafetensors } from "../../src/files/safetensors.ts";
import { damageBytes, damageJson } from "./bytes.ts";
import type { Choices } from "./choices.ts";
import { callHere, faultOfOutcome, startProcess, timelessOutput } from "./commands.ts";
import { type AttackedRun, callOf, copyFolder, stateOf, type Use, type World } from "./world.ts";

/** A change to a run's folder. */
interface Attack {
  readonly what: string;
  /**
   * Whether checksums are valid again. Then a command may accept the files of another run, but must still not
   * fail unexpectedly.
   */
  readonly isForged?: boolean;
  /** Whether a command may fail after training. */
  readonly mayFailLate?: boolean;
}

/** Damages a copy of a run, uses it, and describes the fault of the outcome, if any. */
export async function folderCase(
  world: World,
  choices: Choices,
  scratch: string,
): Promise<[what: string, fault?: string]> {
  const run = choices.of(world.runs);
  const path = `${scratch}/run`;
  await copyFolder(run.path, path);
  const attack = await attackFolder(world, run, path, choices);
  const use = choices.of(run.uses);
  const what = `${run.name}: ${attack.what}; ${use.command} ${use.args.join(" ")}`;
  const twin = choices.chance(0.02) ? `${scratch}/twin` : undefined;
  if (twin) await new Deno.Command("cp", { args: ["-a", path, twin] }).output();
  const before = await Deno.readFile(`${path}/last.safetensors`).catch(() => undefined);
  const outcome = await callHere(callOf(use, path));
  const fault = faultOfOutcome(outcome) ??
    (outcome.code === 0
      ? attack.isForged ? undefined : await differenceOf(use, timelessOutput(outcome), path)
      : attack.mayFailLate || attack.isForged || before === undefined
      ? undefined
      : await wasTouched(before, path));
  if (fault || !twin) return [what, fault];
  const other = await startProcess(callOf(use, twin)).outcome;
  const differs = other.code !== outcome.code || timelessOutput(other) !== timelessOutput(outcome);
  return [
    `${what}, also in a separate process`,
    faultOfOutcome(other) ?? (differs ? `another outcome there: ${other.stdout}${other.stderr}` : undefined),
  ];
}

/** Whether the result of a successful command differs from that without the attack. */
async function differenceOf(
  { command, result }: Use,
  now: string,
  path: string,
): Promise<string | undefined> {
  if (now !== result.timelessOutput) return `another result: ${now}\ninstead of ${result.timelessOutput}`;
  // The other commands write nothing, and read only some of the files.
  if (command !== "train") return undefined;
  const state = await stateOf(path).catch((error) => `${error}`);
  return state === result.state ? undefined : "it left another state";
}

async function wasTouched(before: Uint8Array, path: string): Promise<string | undefined> {
  const now = await Deno.readFile(`${path}/last.safetensors`);
  const isSame = now.length === before.length && now.every((byte, i) => byte === before[i]);
  return isSame ? undefined : "it failed, and the checkpoint is another";
}

async function attackFolder(world: World, run: AttackedRun, path: string, choices: Choices): Promise<Attack> {
  const files = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  const read = files.filter((name) => !/^(summary|report)/.test(name));
  const file = choices.chance(0.9) ? choices.of(read) : choices.of(files);
  const at = `${path}/${file}`;
  const json = read.filter((name) => name.includes("json"));
  const attacks: (() => Promise<Attack>)[] = [
    async () => {
      const { what, bytes } = damageBytes(await Deno.readFile(at), choices);
      await Deno.writeFile(at, bytes);
      return { what: `${file} ${what}` };
    },
    async () => {
      await Deno.remove(at);
      return { what: `no ${file}` };
    },
    async () => {
      const name = choices.of(json);
      const text = await Deno.readTextFile(`${path}/${name}`);
      const lines = name.endsWith("l") ? text.trimEnd().split("\n") : [text];
      const line = choices.below(lines.length);
      const { what, value } = damageJson(JSON.parse(lines[line]), choices);
      lines[line] = JSON.stringify(value) ?? "";
      await Deno.writeTextFile(`${path}/${name}`, `${lines.join("\n")}\n`);
      return { what: `${name}, line ${line + 1}: ${what}` };
    },
    async () => {
      await Deno.remove(at);
      await Deno.mkdir(at);
      return { what: `${file} is a folder`, mayFailLate: true };
    },
    async () => {
      await Deno.remove(at);
      await Deno.symlink(at, at);
      return { what: `${file} is a link to itself`, mayFailLate: true };
    },
    async () => {
      const other = choices.of(world.runs);
      const source = `${other.path}/${file}`;
      const isThere = await Deno.stat(source).then(() => true, () => false);
      if (isThere) await Deno.copyFile(source, at);
      // A run and a later state of the same run share a history.
      const related = ["characters", "stopped"];
      const isForged = related.includes(run.name) && related.includes(other.name);
      return { what: `${file} of ${other.name}`, isForged };
    },
    async () => {
      const other = choices.of(files.filter((name) => name !== file));
      await Deno.copyFile(`${path}/${other}`, at);
      return { what: `${file} is a copy of ${other}` };
    },
    async () => {
      await Deno.symlink("/dev/full", `${at}.tmp`);
      return { what: `the disk is full for ${file}`, mayFailLate: true };
    },
    async () => {
      const left = choices.of(["lock", `${file}.tmp`]);
      await Deno.writeFile(`${path}/${left}`, damageBytes(new Uint8Array(40), choices).bytes);
      return { what: `a ${left} was left behind` };
    },
    async () => {
      await Deno.mkdir(`${path}/${choices.of(["lock", `${file}.tmp`])}`);
      return { what: "a folder is in the way", mayFailLate: true };
    },
    () => forge(path, choices),
    () => forge(path, choices),
  ];
  return await (choices.chance(0.35) ? attacks[0]() : choices.of(attacks)());
}

/** Weights or a checkpoint with other content and a valid checksum. */
async function forge(path: string, choices: Choices): Promise<Attack> {
  const name = choices.of(["last.safetensors", "best.safetensors"]);
  const file = `${path}/${name}`;
  const content = await readSafetensors(file).catch(() => undefined);
  if (!content) return { what: "nothing" };
  const { tensors, metadata } = content;
  const [tensor, key] = [choices.of(Object.keys(tensors)), choices.of(Object.keys(metadata))];
  const old = tensors[tensor];
  const put = (next: HostTensor) => ({ ...tensors, [tensor]: next });
  const without = { ...tensors };
  delete without[tensor];
  const value = choices.of([NaN, Infinity, -Infinity, 3e38]);
  const place = choices.below(Math.max(1, old.values.length));
  const forgeries:
    (() => { what: string; tensors?: Record<string, HostTensor>; metadata?: Record<string, string> })[] = [
      () => {
        const parsed = (() => {
          try {
            return JSON.parse(metadata[key]);
          } catch {
            return metadata[key];
          }
        })();
        const { what, value } = damageJson(parsed, choices);
        const text = typeof value === "string" ? value : JSON.stringify(value);
        return { what: `${key} ${what}`, metadata: { ...metadata, [key]: text } };
      },
      () => ({
        what: `${tensor}[${place}] = ${value}`,
        tensors: put({ ...old, values: (old.values as Float32Array).with(place, value) }),
      }),
      () => ({ what: `no ${tensor}`, tensors: without }),
      () => ({ what: `${tensor} called x`, tensors: { ...without, x: old } }),
      () => ({
        what: `${tensor} of shape (1, ${old.values.length})`,
        tensors: put({ ...old, shape: [1, old.values.length] }),
      }),
      () => ({
        what: `${tensor} of type int32`,
        tensors: put({ ...old, dtype: "int32", values: Int32Array.from(old.values) }),
      }),
      () => ({ what: "no metadata", metadata: {} }),
      () => ({ what: "no tensors", tensors: {} }),
    ];
  const { what, ...forged } = choices.chance(0.5) ? forgeries[0]() : choices.of(forgeries)();
  await writeSafetensors(file, { tensors, metadata, ...forged });
  return { what: `forged ${name}: ${what}`, isForged: true };
}
