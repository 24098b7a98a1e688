import { Option } from "commander";
import { readCsv } from "../src/data/csv.ts";
import { classifyWithBest, openRun, readRunConfig, type RunConfig, runFolder } from "../src/train/mod.ts";
import { command, main, prepareDrivers } from "./command.ts";

/** `deno task predict`. */
export async function predict(args: string[]): Promise<number> {
  const program = command(
    "predict",
    "Classifies the series of a table with a run's best weights, and prints a line of JSON for each.",
  )
    .argument("<run>", "folder of the run")
    .argument("<table>", "a .csv file with the columns series, time and a column a channel")
    .addOption(
      new Option("--device <device>", "where to compute; auto takes a hardware GPU if there is one")
        .choices(["auto", "webgpu", "cpu"]).default("auto"),
    )
    .parse(args, { from: "user" });
  prepareDrivers();
  const [path, file] = program.processedArgs;
  const table = await readCsv(file, { labels: false });
  const folder = runFolder(path);
  const { device } = program.opts<{ device: RunConfig["device"] }>();
  const run = await openRun({ ...await readRunConfig(folder), device }, folder);
  const answers = await classifyWithBest(run, table);
  answers.forEach((answer, i) => console.log(JSON.stringify({ series: table.series[i].name, ...answer })));
  return 0;
}

if (import.meta.main) await main(predict);
