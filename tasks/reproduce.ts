/**
 * Reproduces the tables of the papers: makes their runs, locally or on a cluster, and writes tables that
 * compare the results with the papers' numbers.
 */
import { type Command, Option } from "commander";
import { exists, makeFolder, writeAtomically } from "../src/files/disk.ts";
import type { RunConfig } from "../src/train/run/config.ts";
import { generatedPages } from "./papers/pages/pages.ts";
import { lacksTrainingImages } from "./papers/experiments/images.ts";
import { experimentNamed } from "./papers/experiments/registry.ts";
import { loadPairedTest, type PairedTest } from "./papers/tables/paired_test.ts";
import { tables } from "./papers/tables/registry.ts";
import {
  type FilledTable,
  measuresText,
  readRuns,
  runText,
  tableCsv,
  tableMarkdown,
  tablePage,
} from "./papers/tables/render.ts";
import { lockRun, runFolder } from "../src/train/run/run_folder.ts";
import {
  dataIn,
  type PaperTable,
  type Scale,
  scaleOf,
  scales,
  type TableRun,
  tableRuns,
} from "./papers/tables/table.ts";
import {
  command,
  deviceOption,
  main,
  nameArgument,
  path,
  prepareDrivers,
  stopSignals,
  trainWords,
  wholeFrom,
} from "../src/commands/command.ts";
import { dataSets } from "./papers/data_sets.ts";
import { runLocally } from "./papers/engines/local.ts";
import {
  runOnSlurm,
  type SlurmArray,
  slurmCommands,
  type SlurmResources,
  slurmScript,
} from "./papers/engines/slurm.ts";

interface Options {
  scale: Scale;
  models?: string[];
  experiments?: string[];
  seeds?: number[];
  device: RunConfig["device"];
  data: string;
  out: string;
  jobs?: number;
  engine: "local" | "slurm";
  cpus: number;
  memory: string;
  time: string;
  sbatch: string[];
  dryRun?: true;
  pages?: true;
}

function reproduceProgram(): Command {
  return command(
    "reproduce",
    "Make a table of a paper. Without a name, list all tables with their runs and data.",
  )
    .addArgument(nameArgument("[table]", "name of a table", tables.map(({ name }) => name)))
    .addOption(
      new Option("--scale <name>", "the paper's sizes, or small sizes: minutes of training on two cores")
        .choices(scales).default("paper"),
    )
    .option("--models <names>", "rows, separated by commas (default: all)", (text) => text.split(","))
    .option("--experiments <names>", "columns, separated by commas (default: all)", (text) => text.split(","))
    .option(
      "--seeds <numbers>",
      "seeds of the runs, separated by commas (default: those of the scale)",
      (text) => text.split(",").map(seedOf),
    )
    .addOption(deviceOption())
    .option("--data <folder>", "folder of the data sets", path, "data")
    .option("--out <folder>", "folder for runs and tables", path, "runs/tables")
    .option(
      "--jobs <number>",
      "maximum number of parallel runs (default: 1 on this machine, since a run uses all cores; no limit on a cluster)",
      wholeFrom(1),
    )
    .addOption(
      new Option("--engine <name>", "where runs execute: as local processes, or as jobs of Slurm").choices([
        "local",
        "slurm",
      ]).default("local"),
    )
    .optionsGroup("Jobs of Slurm (docs/research/reproduce.md):")
    .option("--cpus <number>", "cores of a run", wholeFrom(1), 2)
    .option("--memory <size>", "memory of a run", "4G")
    .option("--time <time>", "time limit of a run", "1-00:00:00")
    .option(
      "--sbatch <options>",
      "more options of sbatch, separated by spaces: '--partition=long --gres=gpu:1'",
      words,
      [],
    )
    .option("--dry-run", "print the script and the commands instead of submitting them")
    .optionsGroup("Documentation:")
    .option("--pages", "write the pages of docs/ that are made from recipes and recorded runs");
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

const seedOf = wholeFrom(0);

/** `deno task reproduce`. */
export async function reproduce(args: string[]): Promise<number> {
  const program = reproduceProgram();
  program.parse(args, { from: "user" });
  prepareDrivers();
  const table = tables.find(({ name }) => name === program.processedArgs[0]);
  const options = program.opts<Options>();
  const ofSlurm = ["cpus", "memory", "time", "sbatch"].find((name) =>
    program.getOptionValueSource(name) === "cli"
  );
  if (ofSlurm && options.engine === "local" && !options.dryRun) {
    program.error(`error: --${ofSlurm} is for jobs of Slurm: add --engine slurm, or remove the option`);
  }
  if (options.pages) {
    for (const { path, render } of generatedPages) {
      const text = await exists(path) ? await Deno.readTextFile(path) : "";
      await writeAtomically(path, await render(text));
    }
    return 0;
  }
  if (!table) {
    for (const one of tables) console.log(await described(one, options));
    return 0;
  }
  const runs = await tableRuns(table, options);
  if (options.dryRun) {
    const array = arrayOf(table, options);
    console.log(
      `${slurmScript(runs.length, array, resourcesOf(options))}\n${slurmCommands(runs, array)}`,
    );
    return 0;
  }
  const lacking = await missingData(table, options, options.scale);
  const isThere = ({ config }: TableRun) => !lacking.includes(config.data ?? "");
  const wanted = runs.filter(isThere);
  const how = `${sourceOf(table, lacking, options)}, or --data`;
  if (wanted.length === 0) throw new Error(`${lacking.join(", ")}: data not found: ${how}`);
  if (lacking.length > 0) console.log(`skipped the runs that need ${lacking.join(", ")}: ${how}`);
  const shown = await tableRuns(table, { ...options, models: undefined, experiments: undefined });
  return await make(table, wanted, shown.filter(isThere), options);
}

/** The test of significance, or `undefined` if its package cannot be loaded. */
async function pairedTest(): Promise<PairedTest | undefined> {
  try {
    return await loadPairedTest();
  } catch (error) {
    console.error(`no paired t test: ${(error as Error).message}`);
    return undefined;
  }
}

/** Makes the missing runs of a table. After each run, writes the table with all completed runs. */
async function make(
  table: PaperTable,
  runs: readonly TableRun[],
  shown: readonly TableRun[],
  options: Options,
): Promise<number> {
  const { scale, out, jobs = 1 } = options;
  const test = await pairedTest();
  const update = async (): Promise<{ filled: FilledTable; files: string[] }> => {
    await makeFolder(out);
    // Another process may work on the same table.
    await using _lock = await lockRun(runFolder(out), { wait: true });
    const filled = { table, scale, runs: await readRuns(shown), test };
    return { filled, files: await writeTable(filled, out) };
  };
  const paths = new Set(runs.map(({ folder }) => folder.path));
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  for (const signal of stopSignals) Deno.addSignalListener(signal, interrupt);
  const failures: string[] = [];
  await update();
  const follow = {
    signal: stop.signal,
    async onEnd(run: TableRun, error?: string) {
      if (stop.signal.aborted) return;
      const { filled } = await update();
      const wanted = filled.runs.filter(({ folder }) => paths.has(folder.path));
      const ended = wanted.filter(({ outcome }) => outcome).length;
      const made = wanted.find(({ folder }) => folder.path === run.folder.path)!;
      if (error) failures.push(`${run.folder.path}: ${error}`);
      console.log(
        `${ended}/${wanted.length} ${run.row.title}, seed ${run.config.seed}: ${error ?? runText(made)}`,
      );
      const cell = filled.runs.filter(({ row, columns }) => row === run.row && columns[0] === run.columns[0]);
      if (cell.every(({ outcome }) => outcome)) console.log(`\n${measuresText(filled)}\n`);
    },
  };
  if (options.engine === "local") {
    await runLocally(runs, { ...follow, jobs, train: [Deno.execPath(), ...trainWords] });
  } else {
    const onStart = (job: string) =>
      console.log(`Slurm job ${job}: the job continues if this command is stopped`);
    await runOnSlurm(runs, {
      ...follow,
      array: arrayOf(table, options),
      resources: resourcesOf(options),
      onStart,
    });
  }
  for (const signal of stopSignals) Deno.removeSignalListener(signal, interrupt);
  const { filled, files } = await update();
  console.log(
    `${measuresText(filled)}\n\nScale ${scale}: ${scaleOf(table, scale).differs}\n${files.join("\n")}`,
  );
  for (const failure of failures) console.error(`error: ${failure}`);
  if (stop.signal.aborted) console.log("stopped; run the same command again to resume");
  return stop.signal.aborted ? 130 : failures.length > 0 ? 1 : 0;
}

function arrayOf({ name }: PaperTable, { scale, out }: Options): SlurmArray {
  return { path: `${out}/${name}-${scale}`, folder: Deno.cwd(), deno: Deno.execPath(), train: trainWords };
}

function resourcesOf({ cpus, memory, time, jobs, sbatch }: Options): SlurmResources {
  return { cpus, memory, time, jobs, others: sbatch };
}

/** Writes a table in three formats, and returns the paths. */
async function writeTable(filled: FilledTable, out: string): Promise<string[]> {
  const name = `${out}/${filled.table.name}-${filled.scale}`;
  const files = { md: tableMarkdown(filled), csv: tableCsv(filled), html: tablePage(filled) };
  for (const [ending, text] of Object.entries(files)) await writeAtomically(`${name}.${ending}`, text);
  return Object.keys(files).map((ending) => `${name}.${ending}`);
}

/** Default path of an experiment's data; `undefined` if it generates them. */
function dataOf(experiment: string): string | undefined {
  return experimentNamed(experiment).options.data?.default as string | undefined;
}

/** The data that runs of a table need and that are missing: paths, and folders without training images. */
async function missingData(table: PaperTable, options: Options, scale: Scale): Promise<string[]> {
  const [row] = table.rows;
  const all = { ...options, scale, models: undefined, experiments: undefined, seeds: [0] };
  const runs = await tableRuns({ ...table, rows: [{ ...row, published: undefined }] }, all);
  const needed = new Set(runs.map(({ config }) => config.data).filter((path) => path !== undefined));
  const lacks = async (path: string) =>
    !await exists(path) ||
    await lacksTrainingImages(path, runs.find(({ config }) => config.data === path)!.config);
  const missing = await Promise.all([...needed].map(lacks));
  return [...needed].filter((_, i) => missing[i]);
}

/** How to get the missing data of a table: by `deno task download`, or from their authors. */
function sourceOf({ columns }: PaperTable, missing: readonly string[], { data }: Options): string {
  const paths = columns.map(({ experiment }) => dataOf(experiment))
    .filter((path) => path !== undefined && missing.includes(dataIn(data, path)))
    .map((path) => `${path!.replace(/^data\//, "")}/`);
  const holds = (path: string, { files }: (typeof dataSets)[number]) =>
    files.some((file) => `${file.path}/`.startsWith(path));
  const names = dataSets.filter((set) => paths.some((path) => holds(path, set))).map(({ name }) => name);
  const isComplete = paths.every((path) => dataSets.some((set) => holds(path, set)));
  return [
    ...(names.length > 0 ? [`deno task download ${names.join(" ")}`] : []),
    ...(isComplete ? [] : ["docs/guides/data.md states where to download the others"]),
  ].join("; ");
}

/** An estimated number of hours, as text. */
function roughly(hours: number): string {
  return hours < 2 ? `${Math.round(60 * hours)} minutes` : `${Math.round(hours).toLocaleString("en")} hours`;
}

async function described(table: PaperTable, options: Options): Promise<string> {
  const missing = await missingData(table, options, table.scales.paper ? "paper" : "small");
  const counts = await Promise.all(
    scales.filter((scale) => table.scales[scale]).map(async (scale) => {
      const runs = await tableRuns(table, { ...options, scale });
      return `${scale}: ${runs.length} runs, about ${roughly(scaleOf(table, scale).hours)} on two cores`;
    }),
  );
  return `${table.name}\n  ${table.title} (${table.source})\n  ${counts.join("; ")}\n  data: ${
    missing.length > 0 ? `missing ${missing.join(", ")}: ${sourceOf(table, missing, options)}` : "available"
  }`;
}

if (import.meta.main) await main(reproduce);
