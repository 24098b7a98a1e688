import { Option } from "commander";
import { findRun, openTrained, predictionsAsCsv, readRunConfig, type RunConfig } from "../src/train/mod.ts";
import { noticesOf } from "../src/data/table/describe.ts";
import { command, deviceOption, main, path, prepareDrivers } from "./command.ts";
import { addOtherTableFlags, refuseTable, splitTable } from "./table_flags.ts";

type Options = { device: RunConfig["device"]; format: "json" | "csv" };

/** `deno task predict`. */
export async function predict(args: string[]): Promise<number> {
  const program = command(
    "predict",
    "Tells the class of each series of a table, its numbers, or how it goes on, with a run's best weights, and prints a " +
      "line of JSON for each. The run's folder is " +
      "all that is needed of the run: scaling, classes and columns are those that it was trained with.",
  )
    .argument("<run>", "folder of the run, or of runs: the newest", path)
    .argument(
      "<table>",
      "a table with the columns that the run was trained on, in any order, but for the targets, which are not read",
      path,
    )
    .addOption(deviceOption())
    .addOption(
      new Option("--format <format>", "json: a line for each series; csv: a table").choices(["json", "csv"])
        .default("json"),
    );
  addOtherTableFlags(program).parse(args, { from: "user" });
  prepareDrivers();
  const [run, file] = program.processedArgs;
  const folder = await findRun(run);
  const { others: { device, format }, table } = splitTable(program.opts<Options>());
  const config = await readRunConfig(folder);
  refuseTable(config, table);
  const { model } = await openTrained({ ...config, device }, folder);
  if (!model.predict || !model.series) {
    throw new Error(`${folder.path}: ${config.experiment} predicts nothing about other series`);
  }
  const set = await model.series(file, table);
  for (const notice of noticesOf(set)) console.error(`${file}: ${notice}`);
  const predictions = await model.predict(set);
  if (format === "csv") console.log(predictionsAsCsv(predictions));
  else for (const prediction of predictions) console.log(JSON.stringify(prediction));
  return 0;
}

if (import.meta.main) await main(predict);
