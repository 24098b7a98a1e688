/**
 * Commands that reproduce tables on public data, run on small generated files in the format of these data.
 */
import assert from "node:assert/strict";
import { readOutcome } from "../../src/train/run/outcome.ts";
import { tables } from "../../tasks/papers/tables/registry.ts";
import { tableRuns, trainArguments } from "../../tasks/papers/tables/table.ts";
import { writeDigits } from "./data/digit_files.ts";
import { tarGz, wavFile } from "./data/speech_files.ts";
import { stay, upTo, writeStays } from "./data/stays.ts";
import { zipFile } from "../data/zip_file.ts";
import { testLong } from "../devices.ts";
import { runTask, withFolder } from "../tasks/command_line.ts";

/** A problem of the UEA archive with other lengths than the real problem. */
async function writeProblem(folder: string, name: string, channels: number): Promise<void> {
  const channel = (i: number) =>
    Array.from({ length: 40 }, (_, t) => Math.sin(t * (1 + i % 2) + i).toFixed(3)).join();
  const series = (i: number) =>
    `${Array.from({ length: channels }, (_, c) => channel(i + 2 * c)).join(":")}:${i % 2}`;
  const content = `@problemName ${name}\n@classLabel true 0 1\n@data\n${upTo(10).map(series).join("\n")}\n`;
  const files = ["TRAIN", "TEST"].map((part) => ({ name: `${name}_${part}.ts`, content }));
  await Deno.writeFile(`${folder}/${name}.zip`, zipFile(files));
}

/** A generator of data, by the table whose command reads them, with the experiment that runs. */
const makers: Record<string, [experiment: string, make: (folder: string) => Promise<void>]> = {
  "ncde-table-2": ["sepsis", async (folder) => {
    await Deno.mkdir(`${folder}/sepsis`);
    const stays = upTo(30).map((i) => [`p${i}.psv`, stay(upTo(4), { septicFrom: i % 3 === 0 ? 2 : 9 })]);
    await writeStays(`${folder}/sepsis`, "training_setA.zip", Object.fromEntries(stays));
  }],
  "ncde-table-3": ["speech-commands", async (folder) => {
    const word = (i: number) =>
      wavFile(Int16Array.from({ length: 16000 }, (_, t) => 9000 * Math.sin(t * i / 20)));
    const files = upTo(12).map((i) => [`./${["yes", "no"][i % 2]}/${i}.wav`, word(i)]);
    await Deno.writeFile(`${folder}/speech_commands_v0.02.tar.gz`, await tarGz(Object.fromEntries(files)));
  }],
  "fast-weights-table-2": ["eigenworms", (folder) => writeProblem(folder, "EigenWorms", 6)],
  "warp-table-3": ["self-regulation-scp1", (folder) => writeProblem(folder, "SelfRegulationSCP1", 6)],
  "warp-table-9": ["fashion-mnist-completion", async (folder) => {
    await Deno.mkdir(`${folder}/fashion-mnist`);
    await writeDigits(`${folder}/fashion-mnist`, "t10k", 1600);
  }],
  "warp-sequential-mnist": ["sequential-mnist", async (folder) => {
    await Deno.mkdir(`${folder}/mnist`);
    for (const part of ["train", "t10k"]) await writeDigits(`${folder}/mnist`, part, 100);
  }],
  "warp-figure-2": ["ettm1", async (folder) => {
    const start = Date.UTC(2016, 6, 1);
    const rows = Array.from(
      { length: 4 * 14400 },
      (_, i) =>
        `${new Date(start + i * 900_000).toISOString().slice(0, 19).replace("T", " ")},${
          Math.sin(i / 15).toFixed(3)
        }`,
    );
    await Deno.writeTextFile(`${folder}/ETTm1.csv`, ["date,OT", ...rows, ""].join("\n"));
  }],
};

for (const [name, [experiment, make]] of Object.entries(makers)) {
  testLong(
    `${name} runs on data in the format of ${experiment}`,
    withFolder(async (folder) => {
      await make(folder);
      const table = tables.find((table) => table.name === name)!;
      const row = table.rows.find(({ model }) => model === table.reference)!;
      const tiny = { epochs: 1, hidden: 4, batchSize: 32 };
      const samples = table.columns.some(({ at }) => at?.small?.samples) ? { samples: 40 } : {};
      const runs = await tableRuns(
        { ...table, rows: [{ ...row, settings: { ...row.settings, ...tiny, ...samples }, at: {} }] },
        { scale: "small", data: folder, out: `${folder}/runs`, seeds: [0], device: "cpu" },
      );
      const run = runs.find(({ config }) => config.experiment === experiment)!;
      const { code, stderr } = await runTask("train", ...trainArguments(run));
      assert.equal(code, 0, stderr);
      const outcome = await readOutcome(run.folder, 1);
      const [{ measure }] = run.columns;
      assert(outcome && "summary" in outcome && Number.isFinite(outcome.summary.test[measure]), measure);
    }),
  );
}
