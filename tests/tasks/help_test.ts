import assert from "node:assert/strict";
import { testLong } from "../devices.ts";

const root = new URL("../..", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root))) as {
  tasks: Record<string, { command: string }>;
};

/** Tasks that run a program of the project. The options of `test` are those of `deno test`. */
const programs = Object.keys(tasks).filter((name) =>
  name !== "test" && /^deno run .*\.ts$/.test(tasks[name].command)
);

/** Runs Deno in the project folder. */
async function run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd: root, stdin: "null" });
  const { code, ...output } = await command.output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout, stderr };
}

testLong("every task prints its options with --help, and nothing else", async () => {
  assert.ok(programs.length > 20, `${programs.length} programs`);
  for (const name of programs) {
    const { code, stdout, stderr } = await run(["task", "--quiet", name, "--help"]);
    assert.match(stdout, new RegExp(`^Usage: deno task ${name} `), name);
    assert.match(stdout, /-h, --help/, name);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, name);
  }
});

testLong("bench:jit prints wall and processor time of every workload", async () => {
  const words = ["task", "--quiet", "bench:jit", "--steps", "1", "--repeats", "1"];
  const { code, stdout, stderr } = await run(words);
  assert.equal(code, 0, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ workload }) => workload), ["small", "readme"]);
  for (const { plain, jit } of lines) {
    for (const { wall, processor } of [plain, jit]) assert.ok(wall > 0 && processor > 0);
  }
});
