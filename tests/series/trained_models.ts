/**
 * Trains small models with `deno task train own-series`, and writes their files, and the predictions of
 * `deno task predict` and of the server's streams. `tests/npm/trained.js` compares the predictions of programs
 * with them.
 */
import { serviceOf } from "../../src/serve/mod.ts";
import type { Message } from "../../src/serve/streams/streams.ts";
import { openTrained } from "../../src/series/mod.ts";
import { writeRecord } from "../../src/train/run/record.ts";
import { findRun, runFolder } from "../../src/train/run/run_folder.ts";
import { openTrained as openRun, readRunConfig } from "../runs.ts";
import { table } from "../serve/served.ts";
import { runTask } from "../tasks/command_line.ts";

/** A model: its data, and the options of the command. */
interface Trained {
  readonly task: "classify" | "regress" | "forecast";
  readonly options: readonly string[];
  readonly data: string;
  /** The table to predict. */
  readonly table: string;
}

/** A table of hours with a daily season and a column of texts, some values missing. @param from The first hour. */
function hours(from: number, count: number): string {
  const rows = Array.from({ length: count }, (_, i) => {
    const hour = from + i;
    const date = new Date(Date.UTC(2024, 0, 1, hour)).toISOString().slice(0, 16);
    const load = (10 + 3 * Math.sin(Math.PI * hour / 12) + hour % 7 / 5).toFixed(2);
    return [date, i % 11 === 5 ? "" : load, hour % 24 < 12 ? "am" : "pm"].join();
  });
  return ["time,load,half", ...rows].map((row) => `${row}\n`).join("");
}

/** As the table of the server's tests, with a number in place of the label. */
function sizes(count: number, hasSizes = true): string {
  const [header, ...rows] = table(count, false).trim().split("\n");
  const size = (row: string) => Number(row.slice(1, row.indexOf(","))) % 5;
  return [`${header}${hasSizes ? ",size" : ""}`, ...rows.map((row) => hasSizes ? `${row},${size(row)}` : row)]
    .map((row) => `${row}\n`).join("");
}

const labelled = { task: "classify", data: table(24), table: table(5, false) } as const;
const load = { task: "forecast", data: hours(0, 240), table: hours(300, 80) } as const;
const few = ["--epochs", "2", "--hidden", "4"];

/** The models. The first also gives the error of a wrong table. */
const models: Readonly<Record<string, Trained>> = {
  classifier: { ...labelled, options: ["--model", "delta", "--online", "--balance", ...few] },
  ensemble: { ...labelled, options: ["--model", "lru", "--ensemble", "2", ...few] },
  convolutions: { ...labelled, options: ["--model", "random-convolutions"] },
  trees: { ...labelled, options: ["--model", "boosted-trees", "--balance"] },
  blend: { ...labelled, options: ["--model", "blend"] },
  regression: {
    task: "regress",
    options: ["--model", "neural-cde", "--online", "--target", "size", ...few],
    data: sizes(24),
    table: sizes(5, false),
  },
  forecast: { ...load, options: ["--model", "linear", "--horizon", "6h"] },
  smoothing: { ...load, options: ["--model", "exponential-smoothing", "--horizon", "6"] },
  "forecast-trees": { ...load, options: ["--model", "boosted-trees", "--horizon", "6"] },
  network: { ...load, options: ["--model", "s4d", "--horizon", "4", "--epochs", "1", "--target", "load"] },
};

const fileNames = ["config.json", "data.json", "best.safetensors"];

async function run(name: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runTask(name, ...args);
  if (code !== 0) throw new Error(`deno task ${name} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Predictions of the server's stream for the first series of a table of observations. */
async function streamOf(path: string, text: string) {
  const folder = runFolder(path);
  const trained = await openRun(await readRunConfig(folder), folder);
  if (!trained.model.stream) return undefined;
  const [header, ...lines] = text.trim().split("\n").map((line) => line.split(","));
  const rows = lines.map((cells) => new Map(header.map((name, i) => [name, cells[i]])));
  const series = rows[0].get("series") ?? "hours";
  const isFirst = (row: Map<string, string>) => (row.get("series") ?? series) === series;
  const observations = rows.filter(isFirst).slice(-30).map((row) => ({
    time: Number.isNaN(Number(row.get("time"))) ? row.get("time")! : Number(row.get("time")),
    values: Object.fromEntries([...row].filter(([name]) => name !== "series" && name !== "time")),
  }));
  const { streams } = serviceOf(trained);
  const messages: Message[] = [];
  for (const observation of observations) {
    await streams.take(JSON.stringify({ series, ...observation }), {
      send: (one) => void messages.push(one),
    });
  }
  const answers = messages.map((message) => {
    if (message.type !== "answer") throw new Error(JSON.stringify(message));
    return message.answer;
  });
  return { series, observations, answers };
}

/** Damages of a run's files, by the name of a folder. Each makes the run unusable. */
const faults: Readonly<Record<string, (run: string) => Promise<void>>> = {
  ...Object.fromEntries(fileNames.map((name) => [`no-${name}`, (run) => Deno.remove(`${run}/${name}`)])),
  "truncated-weights": (run) => change(run, "best.safetensors", (bytes) => bytes.subarray(0, -5)),
  "a-changed-byte-of-the-weights": (run) =>
    change(run, "best.safetensors", (bytes) => bytes.with(-3, bytes.at(-3)! ^ 1)),
  "a-changed-byte-of-the-record": (run) =>
    change(run, "data.json", (bytes) => bytes.map((byte) => byte === 0x32 ? 0x33 : byte)),
  "a-truncated-configuration": (run) => change(run, "config.json", (bytes) => bytes.subarray(0, -5)),
  "a-configuration-of-another-version": (run) => changeJson(run, "config.json", { colour: "red" }),
  "a-configuration-of-another-run": (run) => changeJson(run, "config.json", { seed: 7 }),
  "a-record-of-another-version": async (run) => {
    const { digest: _, ...record } = JSON.parse(await Deno.readTextFile(`${run}/data.json`));
    await writeRecord(`${run}/data.json`, { ...record, version: 9 });
  },
};

async function change(run: string, name: string, to: (bytes: Uint8Array) => Uint8Array): Promise<void> {
  await Deno.writeFile(`${run}/${name}`, to(await Deno.readFile(`${run}/${name}`)));
}

async function changeJson(run: string, name: string, members: object): Promise<void> {
  const value = JSON.parse(await Deno.readTextFile(`${run}/${name}`));
  await Deno.writeTextFile(`${run}/${name}`, JSON.stringify({ ...value, ...members }));
}

/** Copies the files that a model needs. */
async function copyRun(from: string, to: string): Promise<string> {
  await Deno.mkdir(to, { recursive: true });
  for (const name of fileNames) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  return to;
}

/** Trains models in a folder, and writes the expected results. @param chosen Names of the models; all by default. */
export async function makeModels(folder: string, chosen = Object.keys(models)): Promise<void> {
  const work = await Deno.makeTempDir();
  try {
    const made = await Promise.all(chosen.map(async (name) => {
      const { task, options, data, table } = models[name];
      const out = `${work}/${name}`;
      const [training, unseen] = [`${out}/all.csv`, `${out}/new.csv`];
      await Deno.mkdir(out);
      await Deno.writeTextFile(training, data);
      await Deno.writeTextFile(unseen, table);
      await run(
        "train",
        "own-series",
        "--device",
        "cpu",
        "--task",
        task,
        ...options,
        "--data",
        training,
        "--out",
        out,
      );
      const path = await copyRun((await findRun(`${out}/own-series`)).path, `${folder}/${name}`);
      await Deno.copyFile(unseen, `${path}/new.csv`);
      const predicted = await run("predict", path, unseen, "--device", "cpu");
      const answers = predicted.trim().split("\n").map((line) => JSON.parse(line));
      return { name, task, table, answers, streamed: await streamOf(path, table) };
    }));
    const [first] = chosen;
    const found = await Promise.all(
      Object.entries(faults).map(async ([name, damage]) => {
        const path = await copyRun(`${folder}/${first}`, `${folder}/faults/${name}`);
        await damage(path);
        const { code, message } = await openTrained(path).catch((error) => error);
        const files = await Array.fromAsync(Deno.readDir(path), ({ name }) => name);
        return { name, files, code, message: message.replaceAll(path, "<run>") };
      }),
    );
    const model = await openTrained(`${folder}/${first}`);
    const wrong = made[0].table.replace(/,[\d.]+,(er|icu)\n/, ",much,$1\n");
    const { code, row, column } = await model.predict({ name: "wrong", text: wrong }).catch((error) => error);
    const expected = { models: made, faults: found, wrong: { table: wrong, error: { code, row, column } } };
    await Deno.writeTextFile(`${folder}/expected.json`, JSON.stringify(expected, undefined, 1));
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

if (import.meta.main) await makeModels(Deno.args[0]);
