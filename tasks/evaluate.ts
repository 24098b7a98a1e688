import {
  type Evaluation,
  findRun,
  flag,
  formatMeasure,
  measureNew,
  openRun,
  openTrained,
  readRunConfig,
  type RunConfig,
  type RunFolder,
  type Task,
  testBest,
} from "../src/train/mod.ts";
import { sampleCount } from "../src/data/batches.ts";
import { plural } from "../src/data/format.ts";
import type { TableOptions } from "../src/data/table/options.ts";
import { command, deviceOption, main, path, prepareDrivers, requireOwnData } from "./command.ts";
import { addOtherTableFlags, refuseTable, splitTable } from "./table_flags.ts";

type Options = { device: RunConfig["device"]; data?: string; testPart?: true };

/** `deno task evaluate`. */
export async function evaluate(args: string[]): Promise<number> {
  const program = command(
    "evaluate",
    "Measures a run's best weights: on the test part of the data that the run was started with, or on all of other data, " +
      "with the scaling and the classes of the run.",
  )
    .argument("<run>", "folder of the run, or of runs: the newest", path)
    .addOption(deviceOption())
    .option("--data <path>", "other data: a table, zip file or folder, all of which is measured", path)
    .option(
      "--test-part",
      "--data is the new place of the run's own data: their test part alone is measured",
    );
  addOtherTableFlags(program).parse(args, { from: "user" });
  prepareDrivers();
  const folder = await findRun(program.processedArgs[0]);
  const { others: { device, data, testPart }, table } = splitTable(program.opts<Options>());
  const config = { ...await readRunConfig(folder), device };
  const [given] = Object.keys(table);
  if (given && (data === undefined || testPart)) {
    program.error(`error: ${flag(given)} tells how another table differs: name it with --data`);
  }
  refuseTable(config, table);
  if (testPart && data !== undefined) await requireOwnData(data);
  const { measures, baselines } =
    await (data === undefined || testPart
      ? measureTestPart({ ...config, data: data ?? config.data }, folder)
      : measureAll(config, folder, data, table));
  for (const [name, value] of Object.entries(measures)) {
    console.log(`test ${name} ${formatMeasure(name, value)}`);
  }
  for (const [baseline, own] of Object.entries(baselines)) {
    for (const [name, value] of Object.entries(own)) {
      console.log(`${baseline}: ${name} ${formatMeasure(name, value)}`);
    }
  }
  return 0;
}

type Measured = Pick<Evaluation, "measures" | "baselines">;

async function measureTestPart(config: RunConfig, folder: RunFolder): Promise<Measured> {
  const run = await openRun(config, folder);
  const tested = await testBest(run);
  const source = config.data ?? `the data that the seed ${config.seed} makes`;
  console.log(`the test part of ${source}${testShare(run.task)}`);
  return tested;
}

/** How much is in the test part, where a record of the data tells: windows of series that are continued, else series. */
function testShare({ record, data }: Task): string {
  if (!record) return "";
  if (record.windows) return `: ${plural(sampleCount(data.test), "window")}`;
  const { train, validation, test } = record.split;
  return `: ${test.length} of ${[train, validation, test].flat().length} series`;
}

async function measureAll(
  config: RunConfig,
  folder: RunFolder,
  data: string,
  table: TableOptions,
): Promise<Measured> {
  const run = await openTrained(config, folder);
  const { measures, baselines, count, seen, kind, notices } = await measureNew(run, data, table);
  for (const notice of notices) console.error(`${data}: ${notice}`);
  console.log(`all of ${data}: ${plural(count, kind)}`);
  if (seen > 0) console.log(`the model was trained on ${seen} of them: it knows their answers`);
  return { measures, baselines };
}

if (import.meta.main) await main(evaluate);
