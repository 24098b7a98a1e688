/** A server under attack: a separate process, in a group with limited memory where the system allows it. */
import { trainedRun } from "../../serve/served.ts";
import { commandOf, variablesOf, wordsOf } from "../../tasks/command_line.ts";
import { sleep } from "./client.ts";

/** A server under attack. */
export interface AttackedServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Whether the process runs. */
  readonly isRunning: boolean;
  /** Text that the process has written to its log. */
  readonly log: string;
  readonly process: Deno.ChildProcess;
  /** Whether the memory of the process is limited by the system. */
  readonly isLimited: boolean;
  /** Resident memory in bytes, and its maximum so far. */
  memory(): { readonly now: number; readonly most: number };
}

/** How a server is started. */
export interface ServerStart {
  /** Arguments of the command, after the run. */
  readonly args?: readonly string[];
  /** Limit of the memory of the process in bytes. */
  readonly memory?: number;
  /** Limit of open files of the process. */
  readonly descriptors?: number;
}

/** Trains a model that reads streams, and returns the path of its run. */
export async function trainServed(folder: string, hidden = 8): Promise<string> {
  const run = await trainedRun(folder, { online: true, hidden });
  return run.folder.path;
}

/** Starts a server of a run on a free port. @throws {Error} If it does not start. */
export async function startAttacked(run: string, start: ServerStart = {}): Promise<AttackedServer> {
  const group = start.memory === undefined ? undefined : await groupOf(start.memory);
  const words = wordsOf("serve", [run, "--port", "0", "--device", "cpu", ...start.args ?? []]);
  const process = commandOf(withLimits(words, group, start.descriptors), {
    ...variablesOf("serve"),
    NO_COLOR: "1",
  }).spawn();
  let [text, isRunning] = ["", true];
  const collect = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) text += part;
  };
  const read = Promise.all([collect(process.stdout), collect(process.stderr)]);
  const ended = process.status.then(() => isRunning = false);
  while (isRunning && !/serving .* on \S+\n/.test(text)) await sleep(20);
  const url = /serving .* on (\S+)/.exec(text)?.[1];
  if (!url) throw new Error(`the server does not start: ${text}`);
  return {
    url,
    port: Number(new URL(url).port),
    process,
    isLimited: group !== undefined,
    get isRunning() {
      return isRunning;
    },
    get log() {
      return text;
    },
    memory() {
      // Deno itself reads files of other processes only with all permissions.
      const { stdout } = new Deno.Command("cat", { args: [`/proc/${process.pid}/status`] }).outputSync();
      const status = new TextDecoder().decode(stdout);
      const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
      return { now: 1024 * kibibytes("VmRSS"), most: 1024 * kibibytes("VmHWM") };
    },
    async [Symbol.asyncDispose]() {
      if (isRunning) process.kill("SIGKILL");
      await ended;
      await read;
      if (group) await new Deno.Command("rmdir", { args: [group] }).output();
    },
  };
}

/** The same process, started by a shell that sets limits. */
function withLimits(
  words: [string, ...string[]],
  group?: string,
  descriptors?: number,
): [string, ...string[]] {
  const steps = [
    ...(group ? [`echo $$ > ${group}/cgroup.procs`] : []),
    ...(descriptors ? [`ulimit -n ${descriptors}`] : []),
  ];
  return steps.length === 0 ? words : ["sh", "-c", `${steps.join(" && ")} && exec "$0" "$@"`, ...words];
}

/**
 * Makes a group of processes with limited memory. Undefined if the system does not allow it. Version 1 of cgroups
 * has a tree for each resource, version 2 one tree. Deno itself reads /proc and /sys only with all permissions.
 */
async function groupOf(bytes: number): Promise<string | undefined> {
  const script = `
    path=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    if [ -n "$path" ]; then group=/sys/fs/cgroup/memory$path/weft-$$ file=memory.limit_in_bytes
    else group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/weft-$$ file=memory.max; fi
    mkdir "$group" && echo ${bytes} > "$group/$file" && echo "$group"`;
  const { success, stdout } = await new Deno.Command("sh", { args: ["-c", script], stderr: "null" }).output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}
