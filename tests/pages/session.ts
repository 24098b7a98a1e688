/** Runs commands of a page in a copy of the project. */
import assert from "node:assert/strict";
import { findRun } from "../../src/train/run_folder.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Files and folders of a clone that commands of the pages need. */
const needed = ["deno.json", "deno.lock", "mod.ts", "src", "kernels", "tasks", "examples", "bench", "tests"];

async function copy(from: string, to: string): Promise<void> {
  if (!(await Deno.stat(from)).isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/** Copies the project to an empty folder, without data and runs. */
export async function makeClone(folder: string): Promise<void> {
  for (const name of needed) await copy(`${root}/${name}`, `${folder}/${name}`);
}

/** The process of a line of a shell, with the `deno` of this process. */
function shell(line: string, cwd: string): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "--eval", line],
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Waits for the server's line. What comes after it is read so that the server never waits. */
async function untilServed({ stdout }: Deno.ChildProcess): Promise<void> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("answers on")) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the server ended: ${said}`);
    said += value;
  }
  (async () => {
    while (!(await reader.read()).done);
  })();
}

/**
 * Runs commands in turn. Variables that a command exports hold for the next ones. A server runs until the
 * next one starts, or until the end. `<time>` is the newest run of a folder.
 *
 * @returns The standard output of each command, by the command.
 */
export async function runCommands(folder: string, commands: readonly string[]): Promise<Map<string, string>> {
  const outputs = new Map<string, string>();
  const exported: string[] = [];
  let server: Deno.ChildProcess | undefined;
  const stop = async () => {
    server?.kill("SIGINT");
    await server?.status;
    await server?.stderr.cancel();
    server = undefined;
  };
  try {
    for (const command of commands) {
      if (command.startsWith("export ")) {
        exported.push(command);
        continue;
      }
      const runs = /(runs\/[\w-]+)\/<time>/.exec(command);
      const line = [
        ...exported,
        command
          .replace(/^npx -y deno@[\d.]+/, "deno")
          .replace(runs?.[0] ?? "", runs ? (await findRun(`${folder}/${runs[1]}`)).path : ""),
      ].join(" && ");
      if (/ serve /.test(command)) {
        await stop();
        server = shell(line, folder).spawn();
        await untilServed(server);
        continue;
      }
      const { code, stdout, stderr } = await shell(line, folder).output();
      const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert.equal(code, 0, `${command}\n${out}${error}`);
      outputs.set(command, out);
    }
  } finally {
    await stop();
  }
  return outputs;
}
