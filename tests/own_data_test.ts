/** Runs the commands of the first section of docs/own_data.md in a copy of the files that they need. */
import assert from "node:assert/strict";
import { testLong } from "./devices.ts";
import { withFolder } from "./tasks/command_line.ts";

const root = new URL("..", import.meta.url).pathname;

/** What a clone must hold for the commands. */
const needed = ["deno.json", "deno.lock", "mod.ts", "src", "kernels", "tasks", "examples"];

async function copy(from: string, to: string): Promise<void> {
  if (!(await Deno.stat(from)).isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/** The commands of the section. */
async function commands(): Promise<string[]> {
  const text = await Deno.readTextFile(`${root}/docs/own_data.md`);
  const section = text.slice(text.indexOf("## From a table"), text.indexOf("## Formats"));
  return Array.from(section.matchAll(/```sh\n([^]*?)```/g), ([, block]) => block.trim().split("\n")).flat();
}

/** The process of a line of a shell. */
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

/** Waits for the server's line; what comes after it is read so that the server never waits. */
async function untilServed({ stdout }: Deno.ChildProcess): Promise<void> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("answers on")) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the server ended: ${said}`);
    said += value;
  }
}

testLong(
  "from a fresh clone the commands of docs/own_data.md take a table to a served model that answers curl",
  withFolder(async (folder) => {
    const clone = `${folder}/clone`;
    await Deno.mkdir(clone);
    for (const name of needed) await copy(`${root}/${name}`, `${clone}/${name}`);
    let server: Deno.ChildProcess | undefined;
    let last = "";
    try {
      for (const line of await commands()) {
        if (line.startsWith("deno task serve")) {
          server = shell(line, clone).spawn();
          await untilServed(server);
          continue;
        }
        const { code, stdout, stderr } = await shell(line, clone).output();
        last = new TextDecoder().decode(stdout);
        assert.equal(code, 0, `${line}\n${last}${new TextDecoder().decode(stderr)}`);
        if (line.includes("evaluate")) {
          assert.ok(Number(/test accuracy (\S+) %/.exec(last)?.[1]) > 90, last);
        }
      }
    } finally {
      server?.kill("SIGINT");
      await server?.status;
      await server?.stderr.cancel();
    }
    const { answers } = JSON.parse(last);
    assert.deepEqual(answers.map(({ series, label }: Record<string, unknown>) => [series, label]), [
      ["machine 0", "well"],
      ["machine 1", "worn"],
      ["machine 2", "loose"],
    ]);
  }),
);
