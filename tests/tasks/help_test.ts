import assert from "node:assert/strict";
import { programs as benchPrograms } from "../../bench/programs.ts";
import { testLong } from "../devices.ts";

const root = new URL("../..", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root))) as {
  tasks: Record<string, { command: string }>;
};

/** Command lines of the programs of the project. `test` has the options of `deno test`, and `pack` has none. */
const commandLines = [
  ...Object.keys(tasks).filter((name) =>
    !["test", "pack"].includes(name) && /(^| )deno run .*\.ts$/.test(tasks[name].command)
  ),
  ...Object.keys(benchPrograms).map((name) => `bench ${name}`),
];

/** Runs Deno in the project folder. */
async function run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd: root, stdin: "null" });
  const { code, ...output } = await command.output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout, stderr };
}

testLong("every command prints only its options with --help", async () => {
  assert.ok(commandLines.length > 20, `${commandLines.length} commands`);
  for (const name of commandLines) {
    const { code, stdout, stderr } = await run(["task", "--quiet", ...name.split(" "), "--help"]);
    assert.match(stdout, new RegExp(`^Usage: deno task ${name} `), name);
    assert.match(stdout, /-h, --help/, name);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, name);
  }
});

testLong("bench jit prints wall time and CPU time of every workload", async () => {
  const words = ["task", "--quiet", "bench", "jit", "--steps", "1", "--repeats", "1"];
  const { code, stdout, stderr } = await run(words);
  assert.equal(code, 0, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ workload }) => workload), [
    "small",
    "readme",
    "multiplication",
    "multiplication, jit",
    "chain",
    "chain, jit",
    "chain and gradient",
    "chain and gradient, jit",
  ]);
  for (const { plain, jit, ...times } of lines) {
    for (const { wall, processor } of plain ? [plain, jit] : [times]) assert.ok(wall > 0 && processor > 0);
  }
});

Deno.test("the bench command lists its programs and rejects unknown programs", async () => {
  const { code, stdout } = await run(["task", "--quiet", "bench", "--help"]);
  assert.equal(code, 0);
  for (const [name, { summary }] of Object.entries(benchPrograms)) {
    assert.match(stdout.replaceAll(/\s+/g, " "), new RegExp(` ${name} ${summary}`), name);
  }
  const unknown = await run(["task", "--quiet", "bench", "strem"]);
  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /^error: unknown command 'strem' \(Did you mean stream\?\); deno task bench --help .*\n$/,
  );
});
