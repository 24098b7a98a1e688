import { Option } from "commander";
import {
  formatMeasure,
  openRun,
  readRunConfig,
  type RunConfig,
  runFolder,
  testBest,
} from "../src/train/mod.ts";
import { command, main, prepareDrivers } from "./command.ts";

type Options = { device: RunConfig["device"]; data?: string };

/** `deno task evaluate`. */
export async function evaluate(args: string[]): Promise<number> {
  const program = command("evaluate", "Measures a run's best weights on its test data.")
    .argument("<run>", "folder of the run")
    .addOption(
      new Option("--device <device>", "where to compute; auto takes a hardware GPU if there is one")
        .choices(["auto", "webgpu", "cpu"]).default("auto"),
    )
    .option("--data <path>", "zip file or folder of real data (default: as in the run)")
    .parse(args, { from: "user" });
  prepareDrivers();
  const folder = runFolder(program.processedArgs[0]);
  const run = await openRun({ ...await readRunConfig(folder), ...program.opts<Options>() }, folder);
  const measures = await testBest(run);
  for (const [name, value] of Object.entries(measures)) {
    console.log(`test ${name} ${formatMeasure(name, value)}`);
  }
  return 0;
}

if (import.meta.main) await main(evaluate);
