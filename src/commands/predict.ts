import { Option } from "commander";
import { noticesOf } from "../data/series.ts";
import { describeWarnings } from "../series/targets/range_warnings.ts";
import { predictionsAsCsv } from "../series/targets/prediction_table.ts";
import type { DataRecord } from "../series/record/data_record.ts";
import { requirePredictions, type TrainedModel } from "../series/models/trained_model.ts";
import { DataError } from "../device/errors.ts";
import { listed } from "../data/format.ts";
import type { RunConfig } from "../train/run/config.ts";
import { openBest } from "../train/run/trained_run.ts";
import { command, deviceOption, path, prepareDrivers } from "./command.ts";
import { keepPaths } from "./permissions.ts";
import { type ExperimentSource, modelFileOption, runOf } from "./run_of.ts";
import { print, printData, printError } from "./print.ts";
import { addTableOptions, tableOf } from "./table_options.ts";

type Options = { device: RunConfig["device"]; model?: string; format: "json" | "csv" };

/** `deno task predict`: predicts the series of a table. @param experiments Known experiments. */
export async function predict(args: string[], experiments: ExperimentSource): Promise<number> {
  const program = command(
    "predict",
    "Print a run's predictions about each series of a table: its class, its numbers, or a forecast. The training " +
      "data are not needed.",
  )
    // A run whose model predicts no tables is rejected without a table, too.
    .usage("[options] <run> <table>")
    .argument("<run>", "folder of a run, or of several runs (uses the newest)", path)
    .argument(
      "[table]",
      "a table with the columns that the run was trained on, in any order; targets are not read",
      path,
    )
    .addOption(deviceOption())
    .addOption(modelFileOption())
    .addOption(
      new Option("--format <format>", "json: a line for each series; csv: a table").choices(["json", "csv"])
        .default("json"),
    );
  addTableOptions(program).parse(args, { from: "user" });
  prepareDrivers();
  const [run, file] = program.processedArgs;
  const { device, format, model: modelFile } = program.opts<Options>();
  const { folder, config, experiment } = await runOf(run, experiments, modelFile);
  await keepPaths({ read: [folder.path, file] });
  const table = tableOf(program, experiment);
  const opened = await openBest<TrainedModel, DataRecord>(experiment, { ...config, device }, folder);
  const model = requirePredictions(opened);
  if (file === undefined) throw missingTable(opened.record);
  const set = await model.series(file, table);
  for (const notice of noticesOf(set)) printError(`${file}: ${notice}`);
  const predictions = await model.predict(set);
  for (const warning of describeWarnings(predictions)) printError(`warning: ${warning}`);
  if (format === "csv") printData(predictionsAsCsv(predictions));
  else for (const prediction of predictions) print(JSON.stringify(prediction));
  return 0;
}

/** Error of a call without a table. Only now is it known that the model can predict a table. */
function missingTable({ channels }: DataRecord): DataError {
  const columns = new Set(channels.map(({ name, column = name }) => column));
  const expected = `the path of a table with the columns ${listed([...columns])} of the series`;
  return new DataError("missing-option", `predict: the table is missing; expected ${expected}`, { expected });
}
