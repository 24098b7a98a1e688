import { Option } from "commander";
import {
  type Assessment,
  formatMeasure,
  measureNew,
  openRun,
  openTrained,
  readRunConfig,
  type RunConfig,
  type RunFolder,
  runFolder,
  testBest,
} from "../src/train/mod.ts";
import { command, main, path, prepareDrivers } from "./command.ts";

type Options = { device: RunConfig["device"]; data?: string; testPart?: true };

/** `deno task evaluate`. */
export async function evaluate(args: string[]): Promise<number> {
  const program = command(
    "evaluate",
    "Measures a run's best weights: on the test part of the data that the run was started with, or on all of other data, " +
      "with the scaling and the classes of the run.",
  )
    .argument("<run>", "folder of the run")
    .addOption(
      new Option("--device <device>", "where to compute; auto takes a hardware GPU if there is one")
        .choices(["auto", "webgpu", "cpu"]).default("auto"),
    )
    .option("--data <path>", "other data: a table, zip file or folder, all of which is measured", path)
    .option("--test-part", "--data is the new place of the run's own data: their test part alone is measured")
    .parse(args, { from: "user" });
  prepareDrivers();
  const folder = runFolder(program.processedArgs[0]);
  const { device, data, testPart } = program.opts<Options>();
  const config = { ...await readRunConfig(folder), device };
  const { measures, baselines } =
    await (data === undefined || testPart
      ? measureTestPart({ ...config, data: data ?? config.data }, folder)
      : measureAll(config, folder, data));
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

type Measured = Pick<Assessment, "measures" | "baselines">;

async function measureTestPart(config: RunConfig, folder: RunFolder): Promise<Measured> {
  const run = await openRun(config, folder);
  const tested = await testBest(run);
  const source = config.data ?? `the data that the seed ${config.seed} makes`;
  const parts = run.task.record && Object.values(run.task.record.split);
  const share = parts ? `: ${run.task.record!.split.test.length} of ${parts.flat().length} series` : "";
  console.log(`the test part of ${source}${share}`);
  return tested;
}

async function measureAll(
  config: RunConfig,
  folder: RunFolder,
  data: string,
): Promise<Measured> {
  const { measures, baselines, count, seen } = await measureNew(await openTrained(config, folder), data);
  console.log(`all of ${data}: ${count} series`);
  if (seen > 0) {
    console.log(`${seen} of them are series that the model was trained on: it knows their answers`);
  }
  return { measures, baselines };
}

if (import.meta.main) await main(evaluate);
