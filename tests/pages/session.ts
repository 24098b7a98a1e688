/** Runs commands of a page in a copy of the project. */
import assert from "node:assert/strict";
import { findRun } from "../../src/train/run/run_folder.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Files and folders of a clone that commands of the pages need. */
const needed = ["deno.json", "deno.lock", "mod.ts", "src", "kernels", "tasks", "examples", "bench", "tests"];

async function copy(from: string, to: string): Promise<void> {
  if (!(await Deno.stat(from)).isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/**
 * Copies the project to a folder, without data and runs. A folder that is a copy already only loses its other files: Deno has then
 * compiled its modules.
 */
export async function makeClone(folder: string): Promise<void> {
  const present = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  if (present.length === 0) {
    for (const name of needed) await copy(`${root}/${name}`, `${folder}/${name}`);
  }
  const others = present.filter((name) => !needed.includes(name));
  for (const name of others) await Deno.remove(`${folder}/${name}`, { recursive: true });
}

/** A process that runs one line in the shell of `deno task`, with the same Deno executable. */
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

/** Waits for the line with the address of the server. Reads and discards later output, so that the pipe does not fill. */
async function untilServed({ stdout }: Deno.ChildProcess): Promise<void> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  let output = "";
  while (!/serving .* on http/.test(output)) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the server ended: ${output}`);
    output += value;
  }
  (async () => {
    while (!(await reader.read()).done);
  })();
}

/**
 * Runs commands in sequence. Later commands see the variables that a command exports. A server runs until the
 * next server starts, or until the end. `<time>` is replaced by the newest run of a folder.
 *
 * @returns The standard output by command.
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
