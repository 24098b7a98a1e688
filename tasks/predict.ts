import { Option } from "commander";
import { openTrained, readRunConfig, type RunConfig, runFolder } from "../src/train/mod.ts";
import { command, main, prepareDrivers } from "./command.ts";

/** `deno task predict`. */
export async function predict(args: string[]): Promise<number> {
  const program = command(
    "predict",
    "Tells the class of each series of a table, its numbers, or how it goes on, with a run's best weights, and prints a " +
      "line of JSON for each. The run's folder is " +
      "all that is needed of the run: scaling, classes and columns are those that it was trained with.",
  )
    .argument("<run>", "folder of the run")
    .argument(
      "<table>",
      "a table with the columns that the run was trained on, in any order, but for the targets, which are not read",
    )
    .addOption(
      new Option("--device <device>", "where to compute; auto takes a hardware GPU if there is one")
        .choices(["auto", "webgpu", "cpu"]).default("auto"),
    )
    .parse(args, { from: "user" });
  prepareDrivers();
  const [path, table] = program.processedArgs;
  const folder = runFolder(path);
  const { device } = program.opts<{ device: RunConfig["device"] }>();
  const { model, config } = await openTrained({ ...await readRunConfig(folder), device }, folder);
  if (!model.answer || !model.series) {
    throw new Error(`${folder.path}: ${config.experiment} answers nothing about other series`);
  }
  const set = await model.series(table);
  for (const column of set.ignored ?? []) console.error(`${table}: left out: ${column}`);
  for (const notice of set.notices ?? []) console.error(`${table}: ${notice}`);
  for (const answer of await model.answer(set)) console.log(JSON.stringify(answer));
  return 0;
}

if (import.meta.main) await main(predict);
