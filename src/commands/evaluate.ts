import { plural } from "../data/format.ts";
import type { TableOptions } from "../data/table/options.ts";
import { measureNew } from "../series/models/trained_model.ts";
import { dataPaths, type RunConfig } from "../train/run/config.ts";
import type { Experiment } from "../train/experiment.ts";
import { flag } from "../train/option.ts";
import { measuresInWords } from "../train/report/measure_names.ts";
import { openRun, testBest } from "../train/run/run.ts";
import type { RunFolder } from "../train/run/run_folder.ts";
import type { Evaluation } from "../train/task.ts";
import { openBest } from "../train/run/trained_run.ts";
import { command, deviceOption, path, prepareDrivers, requireOwnData } from "./command.ts";
import { keepPaths } from "./permissions.ts";
import { type ExperimentSource, modelFileOption, runOf } from "./run_of.ts";
import { addTableOptions, tableOf } from "./table_options.ts";
import { print, printError } from "./print.ts";

type Options = { device: RunConfig["device"]; model?: string; data?: string; testPart?: true };

/** `deno task evaluate`: measures a run's best weights. @param experiments Known experiments. */
export async function evaluate(args: string[], experiments: ExperimentSource): Promise<number> {
  const program = command(
    "evaluate",
    "Measure a run's best weights: on its test set, or on other data with --data, with the scaling and the classes " +
      "of the run.",
  )
    .argument("<run>", "folder of a run, or of several runs (uses the newest)", path)
    .addOption(deviceOption())
    .addOption(modelFileOption())
    .option("--data <path>", "other data to evaluate: a table, zip file or folder", path)
    .option("--test-part", "measure only the test set of --data, which is the new path of the run's data");
  addTableOptions(program).parse(args, { from: "user" });
  prepareDrivers();
  const { device, data, testPart, model } = program.opts<Options>();
  const { folder, config: recorded, experiment } = await runOf(program.processedArgs[0], experiments, model);
  const config = { ...recorded, device };
  const caches = experiment.caches?.(data === undefined ? config : { ...config, data }) ?? [];
  await keepPaths({ read: [folder.path, data, ...dataPaths.map((name) => config[name]), ...caches] });
  const table = tableOf(program, experiment);
  const [tableOption] = Object.keys(table);
  if (tableOption && (data === undefined || testPart)) {
    program.error(`error: ${flag(tableOption)} describes another table; set --data to its path`);
  }
  if (testPart && data !== undefined) await requireOwnData(data);
  const { measures, baselines, verdict, warnings = [] } =
    await (data === undefined || testPart
      ? measureTestSet(experiment, { ...config, data: data ?? config.data }, folder)
      : measureAll(experiment, config, folder, data, table));
  for (const warning of warnings) printError(`warning: ${warning}`);
  if (verdict !== undefined) print(verdict);
  for (const [name, value] of measuresInWords(measures)) print(`test ${name} ${value}`);
  for (const [baseline, baselineMeasures] of Object.entries(baselines)) {
    for (const [name, value] of measuresInWords(baselineMeasures)) {
      print(`${baseline}: ${name} ${value}`);
    }
  }
  return 0;
}

type Measured = Pick<Evaluation, "measures" | "baselines" | "verdict" | "warnings">;

async function measureTestSet(
  experiment: Experiment,
  config: RunConfig,
  folder: RunFolder,
): Promise<Measured> {
  const run = await openRun(experiment, config, folder);
  const tested = await testBest(run);
  const source = config.data ?? `the data generated with seed ${config.seed}`;
  const { testSize } = run.task;
  print(`the test part of ${source}${testSize === undefined ? "" : `: ${testSize}`}`);
  return tested;
}

async function measureAll(
  experiment: Experiment,
  config: RunConfig,
  folder: RunFolder,
  data: string,
  table: TableOptions,
): Promise<Measured> {
  const run = await openBest(experiment, config, folder);
  const { count, seen, kind, notices, ...measured } = await measureNew(run, data, table);
  for (const notice of notices) printError(`${data}: ${notice}`);
  print(`all of ${data}: ${plural(count, kind)}`);
  if (seen > 0) print(`the model was trained on ${seen} of them: it knows their answers`);
  return measured;
}
