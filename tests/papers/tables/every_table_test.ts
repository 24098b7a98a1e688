import assert from "node:assert/strict";
import { execute, type RunConfig } from "../../../src/train/mod.ts";
import { experimentNamed } from "../../runs.ts";
import { runOnce } from "../../runs.ts";
import { tables } from "../../../tasks/papers/tables/registry.ts";
import { readRuns, tableMarkdown } from "../../../tasks/papers/tables/render.ts";
import { type TableRun, tableRuns } from "../../../tasks/papers/tables/table.ts";
import { writeDigits } from "../data/digit_files.ts";
import { tarGz, wavFile } from "../data/speech_files.ts";
import { zipFile } from "../../data/zip_file.ts";
import { testLong } from "../../devices.ts";
import { withFolder } from "../../tasks/command_line.ts";

/** Problems of the UEA archive: their channels and classes. */
const problems: Readonly<Record<string, readonly [channels: number, classes: number]>> = {
  CharacterTrajectories: [3, 20],
  JapaneseVowels: [12, 9],
  BasicMotions: [6, 4],
  EigenWorms: [6, 5],
  EthanolConcentration: [3, 4],
  Heartbeat: [61, 2],
  MotorImagery: [64, 2],
  SelfRegulationSCP1: [6, 2],
  SelfRegulationSCP2: [7, 2],
};

function problemFile(problem: string, channels: number, classes: number): Uint8Array<ArrayBuffer> {
  const names = Array.from({ length: classes }, (_, i) => `c${i}`);
  const header = `@problemName ${problem}\n@dimensions ${channels}\n@classLabel true ${
    names.join(" ")
  }\n@data\n`;
  const lines = Array.from({ length: 3 * classes }, (_, i) => {
    const channel = (c: number) =>
      Array.from({ length: 20 }, (_, t) => Math.sin(t * (1 + i % classes) + c + i).toFixed(3)).join(",");
    return `${Array.from({ length: channels }, (_, c) => channel(c)).join(":")}:${names[i % classes]}\n`;
  });
  return zipFile(["TRAIN", "TEST"].map((part) => ({
    name: `${problem}_${part}.ts`,
    content: header + lines.join(""),
  })));
}

/** Twenty months of seven channels, hourly or more frequent. */
function transformer(rowsAnHour: number): string {
  const start = Date.UTC(2016, 6, 1);
  const rows = Array.from({ length: 20 * 30 * 24 * rowsAnHour }, (_, row) => {
    const time = new Date(start + row * 3_600_000 / rowsAnHour).toISOString().slice(0, 19).replace("T", " ");
    return [time, ...Array.from({ length: 7 }, (_, c) => Math.sin(row / (4 + c)).toFixed(3))].join(",");
  });
  return ["date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT", ...rows].join("\n") + "\n";
}

/** Stays of two to five hours. Every third stay has sepsis. */
function stays(count: number): Uint8Array<ArrayBuffer> {
  const header = [
    ...Array.from({ length: 34 }, (_, i) => `M${i + 1}`),
    ...["Age", "Gender", "Unit1", "Unit2", "HospAdmTime", "ICULOS", "SepsisLabel"],
  ].join("|");
  return zipFile(Array.from({ length: count }, (_, i) => {
    const rows = Array.from({ length: 2 + i % 4 }, (_, hour) => {
      const measured = Array.from(
        { length: 34 },
        (_, m) => (m + hour) % 5 === 0 ? `${m + i / count}` : "NaN",
      );
      return [...measured, 40 + i, 1, "NaN", "NaN", -1, hour + 1, Number(i % 3 === 0)].join("|");
    });
    return { name: `p${i}.psv`, content: [header, ...rows].join("\n") };
  }));
}

/** Generates every data set in its published format. */
async function writeData(data: string): Promise<void> {
  for (const name of ["mnist", "fashion-mnist"]) {
    await Deno.mkdir(`${data}/${name}`, { recursive: true });
    await writeDigits(`${data}/${name}`, "t10k", 1600);
  }
  for (const [problem, sizes] of Object.entries(problems)) {
    await Deno.writeFile(`${data}/${problem}.zip`, problemFile(problem, ...sizes));
  }
  const [hours, quarters] = [transformer(1), transformer(4)];
  for (const part of ["h1", "h2"]) await Deno.writeTextFile(`${data}/ETT${part}.csv`, hours);
  for (const part of ["m1", "m2"]) await Deno.writeTextFile(`${data}/ETT${part}.csv`, quarters);
  await Deno.mkdir(`${data}/sepsis`);
  for (const part of ["A", "B"]) await Deno.writeFile(`${data}/sepsis/training_set${part}.zip`, stays(40));
  const words = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"];
  const recordings = words.flatMap((word, w) =>
    [0, 1, 2, 3].map((speaker): [string, Uint8Array] => [
      `./${word}/${speaker}_nohash_0.wav`,
      wavFile(Int16Array.from({ length: 16_000 }, (_, t) => 9000 * Math.sin(t / (5 + w) + speaker))),
    ])
  );
  await Deno.writeFile(`${data}/speech_commands_v0.02.tar.gz`, await tarGz(Object.fromEntries(recordings)));
}

/** Lengths and contexts of experiments that have these settings. */
const sizes: Readonly<Record<string, Partial<RunConfig>>> = {
  ...Object.fromEntries(
    ["etth1", "etth2", "ettm1", "ettm2"].map((name) => [name, { hidden: 2, batchSize: 128 }]),
  ),
  "mass-spring-damper": { length: 12, context: 4 },
  "mass-spring-damper-zero": { length: 12, context: 4 },
  "lotka-volterra": { length: 16 },
  "mnist-completion": { length: 16, context: 4 },
  "fashion-mnist-completion": { length: 16, context: 4 },
  "sequential-mnist": { length: 16 },
};

/** A run that ends almost immediately. */
function tiny({ config }: TableRun): RunConfig {
  const { options } = experimentNamed(config.experiment);
  return {
    ...{
      ...config,
      epochs: 1,
      batchSize: 16,
      hidden: 8,
      ...("samples" in options ? { samples: 40 } : {}),
    },
    ...sizes[config.experiment],
  };
}

/** One run for each experiment that has not run before. Returns at least one run. */
function newRuns(runs: readonly TableRun[], seen: Set<string>): TableRun[] {
  const found = runs.filter(({ config }) => {
    const isNew = !seen.has(config.experiment);
    seen.add(config.experiment);
    return isNew;
  });
  return found.length > 0 ? found : runs.slice(0, 1);
}

testLong(
  "every table is filled from small files in the format of the real data",
  withFolder(async (folder) => {
    await writeData(folder);
    // Images of CelebA need a package: tests/papers/celeba_test.ts.
    const seen = new Set(["celeba-completion"]);
    for (const table of tables) {
      const all = await tableRuns(table, {
        ...{ scale: "small", seeds: [0], device: "cpu" },
        ...{ data: folder, out: `${folder}/runs` },
      });
      const runs = newRuns(all, seen).map((run) => ({ ...run, config: tiny(run) }));
      for (const { config, folder } of runs) {
        const start = { command: "", time: "" };
        await runOnce(config, folder, start, async (run) => (await execute(run, { isLocked: true })).summary);
      }
      const made = await readRuns(runs);
      assert(made.every(({ outcome }) => outcome), table.name);
      const text = tableMarkdown({ table, scale: "small", runs: made });
      for (const { row } of runs) {
        assert.match(text, new RegExp(`^\\| ${RegExp.escape(row.title)} +\\|.*\\(1\\)`, "m"), row.title);
      }
    }
  }),
);
