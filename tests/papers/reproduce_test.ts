import assert from "node:assert/strict";
import { readOutcome } from "../../src/train/run/outcome.ts";
import { tables } from "../../tasks/papers/tables/registry.ts";
import { type TableRun, tableRuns, trainArguments } from "../../tasks/papers/tables/table.ts";
import { testLong } from "../devices.ts";
import { readRunConfig } from "../runs.ts";
import { runLocally } from "../../tasks/papers/engines/local.ts";
import { zipFile } from "../data/zip_file.ts";
import { runTask, withFolder } from "../tasks/command_line.ts";

/** A trainer that ends immediately. Seed 1 crashes. */
const trainer = `const option = (name) => Deno.args[Deno.args.indexOf(name) + 1];
const folder = option("--run");
Deno.mkdirSync(folder, { recursive: true });
Deno.writeTextFileSync(folder + "/started.txt", "x", { append: true });
if (option("--seed") === "1") {
  console.error("error: out of memory");
  Deno.exit(1);
}
Deno.copyFileSync(folder + "/../" + option("--seed") + ".json", folder + "/config.json");
Deno.writeTextFileSync(folder + "/summary.json", JSON.stringify({ test: { loss: 1 } }));`;

Deno.test(
  "completed runs are not repeated, and a crashed run does not stop the others",
  withFolder(async (out) => {
    const table = tables.find(({ name }) => name === "warp-table-2")!;
    const all = await tableRuns(table, { scale: "small", out, models: ["warp"], seeds: [0, 1, 2] });
    const runs = all.filter(({ config }) => config.experiment === "sine");
    for (const { config } of runs) {
      await Deno.writeTextFile(`${out}/${config.seed}.json`, JSON.stringify(config));
    }
    await Deno.writeTextFile(`${out}/trainer.js`, trainer);
    const train = [Deno.execPath(), "run", "-A", `${out}/trainer.js`];
    const ended: [seed: number, error?: string][] = [];
    const onEnd = (run: TableRun, error?: string) =>
      Promise.resolve(void ended.push([run.config.seed, error]));
    await runLocally(runs, { jobs: 2, train, onEnd });
    assert.deepEqual(ended.sort(), [[0, undefined], [1, "error: out of memory"], [2, undefined]]);
    await runLocally(runs, { jobs: 1, train, onEnd });
    const starts = await Promise.all(
      runs.map(({ folder }) => Deno.readTextFile(`${folder.path}/started.txt`)),
    );
    assert.deepEqual(starts, ["x", "xx", "x"]);
    assert.match(await Deno.readTextFile(`${runs[1].folder.path}/output.txt`), /out of memory/);
  }),
);

testLong(
  "two processes with the same run train it once, with its settings",
  withFolder(async (out) => {
    const table = tables.find(({ name }) => name === "warp-table-2")!;
    const tiny = { epochs: 1, hidden: 2, depth: 1, units: 2, samples: 2, batchSize: 200 };
    const [run] = await tableRuns(
      {
        ...table,
        columns: table.columns.slice(-1),
        rows: [{ ...table.rows[0], settings: tiny, paper: undefined, published: [[1]] }],
      },
      { scale: "paper", out, seeds: [3], device: "cpu" },
    );
    const both = await Promise.all([0, 1].map(() => runTask("train", ...trainArguments(run))));
    for (const { code, stderr } of both) assert.equal(code, 0, stderr);
    assert.equal(both.filter(({ stdout }) => /has ended: test loss/.test(stdout)).length, 1);
    assert.deepEqual(await readRunConfig(run.folder), run.config);
    const outcome = await readOutcome(run.folder, 1);
    assert(outcome && "summary" in outcome && outcome.summary.peakMemory! > 1e7);
    const [start, ...others] = (await Deno.readTextFile(run.folder.starts)).trimEnd().split("\n");
    assert.equal(others.length, 0);
    assert.match(JSON.parse(start).command, /^deno task train sine .* --seed 3 .* --run /);
  }),
);

testLong("the error of an unknown table suggests the nearest table", async () => {
  const { code, stderr } = await runTask("reproduce", "ncde-tabel-1");
  assert.equal(code, 1);
  assert.match(stderr, /^error: .*'ncde-tabel-1' is invalid.*Did you mean ncde-table-1\?; .* --help lists/);
});

testLong("without a name, reproduce lists the tables and their data", async () => {
  const { code, stdout, stderr } = await runTask("reproduce", "--data", "/nowhere");
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^ncde-table-1\n {2}.*\n {2}paper: \d+ runs, .*\n {2}data: missing \/nowhere\/Char\S+: deno task download character-trajectories\n/,
  );
});

testLong(
  "reproduce trains the runs of a table and writes the table with means, a paired test and the skipped data",
  withFolder(async (folder) => {
    const series = Array.from({ length: 20 }, (_, i) => {
      const channel = (c: number) =>
        Array.from({ length: 6 }, (_, t) => Math.sin(t * (1 + i % 4) + c + i).toFixed(3)).join(",");
      return `${Array.from({ length: 6 }, (_, c) => channel(c)).join(":")}:c${i % 4}\n`;
    });
    const head = "@problemName BasicMotions\n@dimensions 6\n@classLabel true c0 c1 c2 c3\n@data\n";
    const content = head + series.join("");
    await Deno.writeFile(
      `${folder}/BasicMotions.zip`,
      zipFile(["TRAIN", "TEST"].map((part) => ({ name: `BasicMotions_${part}.ts`, content }))),
    );
    const { code, stdout, stderr } = await runTask(
      ...["reproduce", "uea-fast-weights", "--scale", "small", "--models", "neural-cde,hebb-ode"],
      ...["--seeds", "0,1", "--device", "cpu", "--data", folder, "--out", `${folder}/out`, "--jobs", "2"],
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /skipped the runs that need .*CharacterTrajectories/);
    assert.match(stdout, /4\/4 /);
    const name = `${folder}/out/uea-fast-weights-small`;
    const markdown = await Deno.readTextFile(`${name}.md`);
    assert.match(markdown, /\| Neural CDE +\| +\d+\.\d ± \d+\.\d \(2\) \|/);
    assert.match(markdown, /\| Hebb, direct +\| +\d+\.\d ± \d+\.\d \(2\) \|/);
    const lines = (await Deno.readTextFile(`${name}.csv`)).trimEnd().split("\n");
    assert.equal(lines.length, 5);
    assert.match(
      lines[1],
      /^uea-fast-weights,small,Neural CDE,BasicMotions,0,[\d.]+,.*deno task train basic-motions /,
    );
    assert.match(await Deno.readTextFile(`${name}.html`), /Neural CDE and fast weights on small problems/);
  }),
);
