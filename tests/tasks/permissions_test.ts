/** Permissions of the commands: each can only reach the files that it was given. */
import assert from "node:assert/strict";
import { task, wordsOf } from "./command_line.ts";
import { testLong } from "../devices.ts";

const root = new URL("../..", import.meta.url);

/** Series of eight observations whose class is their slope. */
const table = [
  "series,time,x,label",
  ...Array.from({ length: 160 }, (_, row) => {
    const [series, time] = [Math.floor(row / 8), row % 8];
    return `s${series},${time},${series % 2 ? time : -time},${series % 2 ? "up" : "down"}`;
  }),
].join("\n");

const training = ["--model", "random-convolutions", "--device", "cpu"];

/** The run of all tests, with its table and a file that no command is given. The training tries to read it. */
async function makeRun() {
  const folder = await Deno.makeTempDir();
  const [data, run, secret] = [`${folder}/given/own.csv`, `${folder}/run`, `${folder}/secret.txt`];
  await Deno.mkdir(`${folder}/given`);
  await Deno.writeTextFile(data, table);
  await Deno.writeTextFile(secret, "secret");
  const args = ["own-series", "--data", data, "--run", run, ...training];
  await probe("train", secret, args, /\nreport /);
  return { folder, data, run, secret };
}

let made: ReturnType<typeof makeRun> | undefined;

function withRun(body: (paths: { data: string; run: string; secret: string }) => Promise<void>) {
  return async () => await body(await (made ??= makeRun()));
}

Deno.test.afterAll(async () => {
  if (made) await Deno.remove((await made).folder, { recursive: true });
});

/** Starts a command that does not end by itself or ends early, and returns its output up to a line. */
async function outputOf(command: Deno.Command, last: RegExp): Promise<string> {
  const child = command.spawn();
  let text = "";
  const errors = new Response(child.stderr).text();
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (last.test(text)) break;
  }
  try {
    child.kill("SIGTERM");
  } catch {
    // The command has ended.
  }
  await child.status;
  return last.test(text) ? text : text + await errors;
}

/** A program with the options of Deno of a task, and other arguments in place of the task's file. */
function withPermissionsOf(name: string, args: readonly string[]): Deno.Command {
  const [deno, ...options] = wordsOf(name, []);
  return new Deno.Command(deno, {
    args: [...options.slice(0, -1), ...args],
    ...{ cwd: root, stdin: "null", stdout: "piped", stderr: "piped" },
  });
}

/** Runs a command that also tries to reach a file, up to a line of its output. */
async function probe(name: string, secret: string, args: readonly string[], last: RegExp): Promise<void> {
  const command = withPermissionsOf(name, ["tests/tasks/probing.ts", secret, name, ...args]);
  const output = await outputOf(command, last);
  assert.match(output, /read: NotCapable\nwrite: NotCapable\nlist: NotCapable\n/, `${name}: ${output}`);
  assert.match(output, last);
}

Deno.test(
  "train, evaluate, predict and serve can neither read nor write what they were not given",
  withRun(async ({ data, run, secret }) => {
    await probe("evaluate", secret, [run], /test accuracy/);
    await probe("predict", secret, [run, data], /"s19"/);
    await probe("serve", secret, [run, "--port", "0"], /serving /);
    assert.equal(await Deno.readTextFile(secret), "secret");
  }),
);

testLong(
  "narrower permissions by hand are enough, and too narrow ones end with an error instead of a question",
  withRun(async ({ data, run }) => {
    const commands: Readonly<Record<string, { allow: string[]; args: string[]; last: RegExp }>> = {
      train: {
        allow: [`--allow-read=${data},${run}-3`, `--allow-write=${run}-3`],
        args: ["own-series", "--data", data, "--run", `${run}-3`, ...training],
        last: /\nreport /,
      },
      predict: { allow: [`--allow-read=${data},${run}`], args: [run, data], last: /"s19"/ },
    };
    const start = (allow: readonly string[], name: string, args: readonly string[]) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "--no-prompt", "--no-check", ...allow, `tasks/${name}.ts`, ...args],
        ...{ cwd: root, stdin: "null", stdout: "piped", stderr: "piped" },
      });
    for (const [name, { allow, args, last }] of Object.entries(commands)) {
      assert.match(await outputOf(start(allow, name, args), last), last, name);
    }
    const { code, stderr } = await start([`--allow-read=${run}`], "predict", [run, data]).output();
    assert.equal(code, 1);
    assert.match(new TextDecoder().decode(stderr), /^error: .*own\.csv.*Requires read access/m);
  }),
);

testLong(
  "the view keeps only the permission to read the folder of runs, also beside a training",
  withRun(async ({ data, run }) => {
    const shown = await outputOf(task("view", [run, "--port", "0"]), /http:\S+/);
    assert.match(shown, /the runs of .* on http:\S+/);
    const args = ["own-series", "--data", data, "--run", `${run}-4`, "--view", "0", ...training];
    assert.match(await outputOf(task("train", args), /\nreport /), /\nview http:\S+/);
  }),
);

testLong("the commands for a run load none of the papers' experiments", async () => {
  for (const name of ["serve", "predict", "evaluate", "view"]) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", `tasks/${name}.ts`],
      cwd: root,
    }).output();
    const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: { specifier: string }[] };
    assert.ok(modules.length > 100);
    assert.deepEqual(modules.filter(({ specifier }) => specifier.includes("/papers/")), [], name);
  }
});

Deno.test("the page on security describes every task with its permissions", async () => {
  const page = await Deno.readTextFile(new URL("SECURITY.md", root));
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const described = rows.map((line) => /^\| `(\w+)`/.exec(line)![1]);
  for (const name of ["train", "predict", "evaluate", "serve", "view"]) {
    assert.ok(described.includes(name), name);
  }
});
