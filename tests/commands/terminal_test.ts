/** Names in users' files must not control the terminal. */
import assert from "node:assert/strict";
import { printData } from "../../src/commands/print.ts";
import { onlyRun, withFolder } from "../tasks/command_line.ts";
import { callHere } from "../torture/commands.ts";
import { testLong } from "../devices.ts";

/** Erases the screen, in two forms; begins a title; turns the direction of writing around. */
const hostile = ["\x1b[2J", "\x9b2J", "\x1b]0;title\x07", "\u202e"];
// deno-lint-ignore no-control-regex
const controls = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/u;

/** A table whose names and classes contain a text. */
function tableOf(text: string, isLabelled = true): string {
  const names = ["series", "time", `"height${text}"`, `"kind${text}"`, ...isLabelled ? ["label"] : []];
  const rows = Array.from({ length: 24 }, (_, series) =>
    Array.from({ length: 4 }, (_, time) =>
      [
        `"s${series}${text}"`,
        time,
        (series % 2 ? time : -time) + series / 10,
        `"${time % 2 ? "open" : "closed"}${text}"`,
        ...isLabelled ? [`"${series % 2 ? "up" : "down"}${text}"`] : [],
      ].join(","))).flat();
  return `${names.join(",")}\n${rows.join("\n")}\n`;
}

for (const text of hostile) {
  testLong(
    `names with ${JSON.stringify(text)} are printed with escapes`,
    withFolder(async (folder) => {
      const path = `${folder}/data${text}.csv`;
      await Deno.writeTextFile(path, tableOf(text));
      const outputs: string[] = [];
      const call = async (command: "train" | "evaluate" | "predict", ...args: string[]) => {
        const { code, stdout, stderr } = await callHere({ command, args });
        outputs.push(stdout, stderr);
        return { code, stdout, stderr };
      };
      const trained = await call(
        "train",
        ...["own-series", "--data", path, "--out", folder, "--device", "cpu"],
        ...["--category", `kind${text}`, "--model", "random-convolutions"],
      );
      assert.equal(trained.code, 0, trained.stderr);
      const run = await onlyRun(folder, "own-series");
      await call("evaluate", run, "--data", path, "--device", "cpu");
      const predicted = await call("predict", run, path, "--device", "cpu");
      assert.equal(JSON.parse(predicted.stdout.split("\n")[0]).series, `s0${text}`);
      // Errors: an unknown column, an unknown class, a missing file, a series without a value.
      await Deno.writeTextFile(path, tableOf(`${text}${text}`));
      assert.equal((await call("predict", run, path, "--device", "cpu")).code, 1);
      assert.equal((await call("evaluate", run, "--data", path, "--device", "cpu")).code, 1);
      assert.equal((await call("predict", run, `${path}${text}`, "--device", "cpu")).code, 1);
      assert.equal((await call("train", "own-series", "--data", `${path}${text}`)).code, 1);
      for (const output of outputs) assert.doesNotMatch(output, controls);
      assert.match(outputs.join(""), /\\u001b|\\u009b|\\u202e/);
    }),
  );
}

Deno.test("data that a file receives are exact, and those that a terminal receives are escaped", () => {
  const { log } = console;
  const lines: string[] = [];
  console.log = (line: string) => void lines.push(line);
  try {
    for (const isTerminal of [false, true]) printData("a\nb\x1b[2J", isTerminal);
  } finally {
    console.log = log;
  }
  assert.deepEqual(lines, ["a\nb\x1b[2J", "a\nb\\u001b[2J"]);
});

Deno.test("commands print through one file", async () => {
  const folder = new URL("../../src/commands/", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    if (name === "print.ts") continue;
    const text = await Deno.readTextFile(new URL(name, folder));
    assert.doesNotMatch(text, /\bconsole\./, `${name} must print with the functions of print.ts`);
  }
});
