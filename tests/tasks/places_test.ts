/** Errors of commands whose paths do not contain the expected files. */
import assert from "node:assert/strict";
import { execute } from "../../src/train/mod.ts";
import { startRun } from "../runs.ts";
import { outcome } from "../../src/commands/command.ts";
import { evaluate } from "../../src/commands/evaluate.ts";
import { predict } from "../../src/commands/predict.ts";
import { reproduce } from "../../tasks/reproduce.ts";
import { serve } from "../../src/commands/serve.ts";
import { train } from "../../src/commands/train.ts";
import { withFolder } from "./command_line.ts";

import { experiments } from "../runs.ts";
import { testLong } from "../devices.ts";

const commands = { evaluate, predict, reproduce, serve, train };

/** Exit code and standard error of a command. */
async function run(
  name: keyof typeof commands,
  args: readonly string[],
): Promise<{ code: number; stderr: string }> {
  const lines: string[] = [];
  const { error, log } = console;
  console.error = (...words: unknown[]) => lines.push(words.join(" "));
  console.log = () => {};
  try {
    return {
      code: await outcome((args) => commands[name](args, experiments), [...args]),
      stderr: lines.join("\n"),
    };
  } finally {
    Object.assign(console, { error, log });
  }
}

/** Twenty-four series of two classes. */
const table = [
  "series,time,x,label",
  ...Array.from(
    { length: 24 },
    (_, s) => Array.from({ length: 4 }, (_, t) => `s${s},${t},${t * (s % 2)},${"ab"[s % 2]}`),
  ).flat(),
].join("\n");

/** Unsuitable paths, and their faults. */
const places = { missing: "none", below: "text/none", text: "text", bare: "bare" };

/** Creates the paths, a table `own.csv`, and a run. Returns the folder of the run. */
async function makePlaces(folder: string): Promise<string> {
  await Deno.mkdir(`${folder}/bare/inside`, { recursive: true });
  await Deno.writeTextFile(`${folder}/text`, "hello\n");
  const data = `${folder}/own.csv`;
  await Deno.writeTextFile(data, table);
  const config = { experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 8 } as const;
  const made = await startRun({ ...config, learningRate: 0.01, hidden: 4, data }, `${folder}/runs`);
  await execute(made);
  return made.folder.path;
}

/** Arguments of a command with a path, and its message for each path; `undefined` if it accepts the path. */
type Case = readonly [
  name: keyof typeof commands,
  args: (place: string, folder: string, run: string) => string[],
  messages: Partial<Record<keyof typeof places, RegExp>>,
];

const noRun = {
  missing: /: not a run's folder: no such folder; expected/,
  below: /: not a run's folder: no such folder; expected/,
  text: /: not a run's folder: a file, not a folder; expected/,
  bare: /: not a run's folder, since it has no config\.json; expected/,
};
const noTable = {
  missing: /: no such file or folder; expected a table \(\.csv.*\), a folder of tables, a \.ts file, or/,
  below: /: no such file or folder; expected a table \(\.csv.*\), a folder of tables, a \.ts file, or/,
  text: /, line 1: no column "time" among hello/,
  bare:
    /: a folder without tables and without \.ts files; expected a table \(\.csv.*\), a folder of tables, a \.ts file, or/,
};
const noFolder = {
  missing: /: no such folder; expected/,
  below: /: no such folder; expected/,
  text: /: a file, not a folder; expected/,
  bare: /: a folder without .*; expected/,
};
const noDirectory = { below: /: cannot create the folder/, text: /: cannot create the folder/ };
const cpu = ["--device", "cpu"];

const cases: readonly Case[] = [
  ["evaluate", (place) => [place, ...cpu], noRun],
  ["predict", (place, folder) => [place, `${folder}/own.csv`, ...cpu], noRun],
  ["serve", (place) => [place, "--port", "0", ...cpu], noRun],
  ["train", (place) => ["--resume", place], noRun],
  ["evaluate", (place, _, run) => [run, "--data", place, ...cpu], noTable],
  ["predict", (place, _, run) => [run, place, ...cpu], noTable],
  ["train", (place, folder) => ["own-series", "--data", place, "--out", `${folder}/new`, ...cpu], noTable],
  [
    "evaluate",
    (place, _, run) => [run, "--data", place, "--test-part", ...cpu],
    {
      ...noTable,
      missing: /: no such file or folder; expected the data that/,
      below: /: no such file or folder/,
    },
  ],
  [
    "train",
    (place, _, run) => ["--resume", run, "--data", place, ...cpu],
    {
      ...noTable,
      missing: /: no such file or folder; expected the data that/,
      below: /: no such file or folder/,
    },
  ],
  ...["sequential-mnist", "sepsis"].map((name): Case => [
    "train",
    (place, folder) => [name, "--data", place, "--out", `${folder}/new`, ...cpu],
    noFolder,
  ]),
  [
    "train",
    (place, folder) => ["speech-commands", "--data", place, "--out", `${folder}/new`, ...cpu],
    {
      missing: /: no such file; run deno task/,
      below: /: no such file; run deno task/,
      text: /: incomplete/,
      bare: /: a folder, not a file; run deno task/,
    },
  ],
  [
    "train",
    (place, folder) => ["etth1", "--data", place, "--out", `${folder}/new`, ...cpu],
    {
      missing: /: no such file; expected/,
      below: /: no such file; expected/,
      text: /, line 1: no column "date" among hello/,
      bare: /: no tables in this folder; expected/,
    },
  ],
  [
    "reproduce",
    (
      place,
      folder,
    ) => ["uea-fast-weights", "--scale", "small", "--data", place, "--out", `${folder}/new`, ...cpu],
    {
      missing: /: data not found: deno task download/,
      below: /: data not found: deno task download/,
      text: /: data not found: deno task download/,
      bare: /: data not found: deno task download/,
    },
  ],
  [
    "train",
    (place, folder) => ["own-series", "--data", `${folder}/own.csv`, "--out", place, ...cpu],
    noDirectory,
  ],
  [
    "train",
    (place, folder) => ["own-series", "--data", `${folder}/own.csv`, "--run", place, ...cpu],
    noDirectory,
  ],
];

testLong("the error of every command begins with the invalid path and names the problem", async (t) => {
  await withFolder(async (folder) => {
    const runFolder = await makePlaces(folder);
    for (const [name, args, messages] of cases) {
      for (const [kind, message] of Object.entries(messages) as [keyof typeof places, RegExp][]) {
        const place = `${folder}/${places[kind]}`;
        const words = args(place, folder, runFolder);
        const title = [name, ...words].join(" ").replaceAll(runFolder, "<run>").replaceAll(folder, "");
        await t.step(title, async () => {
          const { code, stderr } = await run(name, words);
          assert.equal(code, 1, stderr);
          assert.match(stderr, message);
          assert.ok(stderr.startsWith(`error: ${place}`), stderr);
          assert.doesNotMatch(stderr, /os error|\n/);
        });
      }
    }
  })();
});

for (const [name, args] of Object.entries({ evaluate: [""], predict: ["", "own.csv"], serve: [""] })) {
  Deno.test(`${name} rejects an empty path of a run`, async () => {
    const { code, stderr } = await run(name as keyof typeof commands, args);
    assert.equal(code, 1);
    assert.match(stderr, /'' is invalid for argument 'run'. Expected a path/);
  });
}

Deno.test(
  "a run without weights gives another error than a missing run",
  withFolder(async (folder) => {
    const runFolder = await makePlaces(folder);
    await Deno.remove(`${runFolder}/best.safetensors`);
    for (const [name, args] of [["evaluate", []], ["predict", [`${folder}/own.csv`]]] as const) {
      const { code, stderr } = await run(name, [runFolder, ...args, ...cpu]);
      assert.equal(code, 1);
      assert.match(stderr, /best\.safetensors: no such file: no epoch of the run has ended/);
    }
  }),
);

Deno.test("--data without an experiment is rejected with a list of the experiments that read data", async () => {
  const { code, stderr } = await run("train", ["--data", "x.csv"]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: spirals has no option --data; experiments with these options: own-series, .*; options of spirals:/,
  );
  assert.doesNotMatch(stderr, /experiments with these options: .*\bsine\b/);
});
