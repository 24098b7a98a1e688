import assert from "node:assert/strict";
import { subcommands } from "../../tasks/weft.ts";
import { testLong } from "../devices.ts";
import { withFolder } from "./command_line.ts";

const root = new URL("../..", import.meta.url);
const { permissions, tasks, version } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));

/** Kinds of permission, such as `read`, that a task gives its program, apart from the environment. */
function permissionsOf(task: string): string[] {
  const [, set] = /-P=(\w+)/.exec(tasks[task].command)!;
  return Object.keys(permissions[set]).filter((name) => name !== "env");
}

/** Runs a program with the executable's permissions. */
async function run(program: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--quiet", "-P=weft", program, ...args],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: error };
}

const weft = (...args: string[]) => run("tasks/weft.ts", ...args);

testLong("weft prints its version, its commands and the options of each", async () => {
  assert.equal((await weft("--version")).stdout.trim(), version);
  const help = await weft("--help");
  assert.equal(help.code, 0);
  for (const name of Object.keys(subcommands)) assert.match(help.stdout, new RegExp(`^  ${name} `, "m"));
  const predictHelp = await weft("predict", "--help");
  assert.match(predictHelp.stdout, /^Usage: weft predict \[options\] <run> <table>/);
  assert.deepEqual(await weft("help", "predict"), predictHelp);
});

testLong("weft rejects unknown commands and options, and returns the exit code of its command", async () => {
  for (
    const [args, message] of [
      [["trian"], /unknown command 'trian'\s+\(Did you mean train\?\)/],
      [["--nope"], /unknown option '--nope'/],
      [["train", "--epochs", "0"], /Expected a whole number/],
      [["evaluate", "/nowhere"], /^error: \/nowhere: not a run's folder/],
    ] as const
  ) {
    const { code, stderr } = await weft(...args);
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, message);
  }
});

testLong(
  "weft trains like the task, and can evaluate its run",
  withFolder(async (folder) => {
    const sizes = ["--epochs", "1", "--hidden", "2", "--device", "cpu", "--out", folder];
    const trained = await weft("train", "spirals", ...sizes);
    assert.equal(trained.code, 0, trained.stderr);
    const tested = /\ntest loss before calibration (\S+),/.exec(trained.stdout)?.[1];
    assert.ok(tested, trained.stdout);
    const measured = await weft("evaluate", `${folder}/spirals`, "--device", "cpu");
    assert.ok(
      measured.stdout.includes(`test loss before calibration ${tested}\n`),
      measured.stdout + measured.stderr,
    );
  }),
);

Deno.test("each command of weft has exactly the permissions of its task", async () => {
  for (const [name, { needs }] of Object.entries(subcommands)) {
    assert.deepEqual(new Set(needs), new Set(permissionsOf(name)), name);
  }
  const permissions = await run("tests/tasks/kept_permissions.ts");
  assert.equal(
    permissions.stdout,
    "read granted, write prompt, net prompt, run prompt\n",
    permissions.stderr,
  );
});
