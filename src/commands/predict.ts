import { Option } from "commander";
import { noticesOf } from "../data/table/describe.ts";
import { describeWarnings } from "../series/learned_ranges.ts";
import { predictionsAsCsv } from "../series/prediction_table.ts";
import { requirePredictions } from "../series/trained_model.ts";
import { readRunConfig, type RunConfig } from "../train/config.ts";
import { type Experiment, experimentNamed } from "../train/experiment.ts";
import { findRun } from "../train/run_folder.ts";
import { openBest } from "../train/trained_run.ts";
import { command, deviceOption, path, prepareDrivers } from "./command.ts";
import { addTableOptions, tableOf } from "./table_options.ts";

type Options = { device: RunConfig["device"]; format: "json" | "csv" };

/** `deno task predict`: predicts the series of a table. @param experiments Known experiments. */
export async function predict(args: string[], experiments: readonly Experiment[]): Promise<number> {
  const program = command(
    "predict",
    "Print a run's predictions about each series of a table: its class, its numbers, or a forecast. The training " +
      "data are not needed.",
  )
    .argument("<run>", "folder of a run, or of several runs (uses the newest)", path)
    .argument(
      "<table>",
      "a table with the columns that the run was trained on, in any order; targets are not read",
      path,
    )
    .addOption(deviceOption())
    .addOption(
      new Option("--format <format>", "json: a line for each series; csv: a table").choices(["json", "csv"])
        .default("json"),
    );
  addTableOptions(program).parse(args, { from: "user" });
  prepareDrivers();
  const [run, file] = program.processedArgs;
  const folder = await findRun(run);
  const { device, format } = program.opts<Options>();
  const config = await readRunConfig(folder, experiments);
  const experiment = experimentNamed(experiments, config.experiment);
  const table = tableOf(program, experiment);
  const model = requirePredictions(await openBest(experiment, { ...config, device }, folder));
  const set = await model.series(file, table);
  for (const notice of noticesOf(set)) console.error(`${file}: ${notice}`);
  const predictions = await model.predict(set);
  for (const warning of describeWarnings(predictions)) console.error(`warning: ${warning}`);
  if (format === "csv") console.log(predictionsAsCsv(predictions));
  else for (const prediction of predictions) console.log(JSON.stringify(prediction));
  return 0;
}
