/** Trains every model of the comparison and writes its tables into docs/results.md. */
import {
  comparedConfigs,
  type ComparedRun,
  comparisonTables,
  dataIn,
  missingRuns,
} from "../src/train/comparison.ts";
import { appendJsonLine, readJsonLines, writeAtomically } from "../src/files/disk.ts";
import { execute, formatMeasure, formatSeconds, NonFiniteLossError, startRun } from "../src/train/mod.ts";
import { loadWelchTest } from "../src/train/welch.ts";
import { replaceSection } from "../src/train/markdown.ts";
import { parameterCount } from "../src/train/task.ts";
import { command, main, number, prepareDrivers } from "./command.ts";

const program = command("results", "Trains the models of docs/results.md and writes its tables")
  .option("--data <folder>", "where the archive's zip files are", "data")
  .option("--docs <folder>", "where results.md and results.jsonl are", "docs")
  .option("--seeds <number>", "runs of each model on each problem", number({ from: 1, whole: true }), 3)
  .option(
    "--again",
    "forgets the runs in results.jsonl; without it they count, and only missing ones are made",
  );

await main(async (args) => {
  program.parse(args, { from: "user" });
  prepareDrivers();
  const { data, docs, seeds, again } = program.opts<
    { data: string; docs: string; seeds: number; again?: true }
  >();
  const [page, lines] = [`${docs}/results.md`, `${docs}/results.jsonl`];
  if (again) await writeAtomically(lines, "");
  const test = await loadWelchTest();
  const configs = comparedConfigs(seeds);
  const ended = await readJsonLines<ComparedRun>(lines);
  const missing = missingRuns(configs, ended);
  for (const [i, config] of missing.entries()) {
    const done = await compare(config, dataIn(data, config.experiment));
    ended.push(done);
    await appendJsonLine(lines, done);
    console.log(
      `${i + 1}/${missing.length} ${config.experiment}, ${100 * config.drop} % dropped, ${config.model}, ` +
        `seed ${config.seed}: ${
          done.accuracy === null ? "diverged" : formatMeasure("accuracy", done.accuracy)
        }, ${formatSeconds(done.processorSeconds)}`,
    );
  }
  const wanted = ended.filter((run) => missingRuns(configs, [run]).length < configs.length);
  const tables = comparisonTables(wanted, test);
  await writeAtomically(page, replaceSection(await Deno.readTextFile(page), "tables", tables));
  return 0;
});

async function compare(config: ComparedRun["config"], data: string): Promise<ComparedRun> {
  const before = processorSeconds();
  const run = await startRun({ ...config, data }, "runs/results");
  const summary = await execute(run, {}).then(({ summary }) => summary, (error) => {
    if (error instanceof NonFiniteLossError) return undefined;
    throw error;
  });
  return {
    config,
    accuracy: summary?.test.accuracy ?? null,
    bestEpoch: summary?.bestEpoch ?? null,
    parameters: parameterCount(run.task),
    processorSeconds: processorSeconds() - before,
    deviceDescription: run.device.description,
  };
}

/** Seconds of processor time of this process, all its threads together. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
