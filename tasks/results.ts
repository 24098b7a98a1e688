/** Trains every model of the comparison and writes its tables into docs/results.md. */
import { comparedConfigs, type ComparedRun, comparedRun, comparisonTables } from "../src/train/comparison.ts";
import { dataIn, missingRuns, replaceSection } from "../src/train/comparison.ts";
import { readTextIfPresent, writeAtomically } from "../src/train/files.ts";
import { execute, formatMeasure, formatSeconds, startRun } from "../src/train/mod.ts";
import { command, main, number, prepareDrivers } from "./command.ts";

const program = command("results", "Trains the models of docs/results.md and writes its tables")
  .option("--data <folder>", "where the archive's zip files are", "data")
  .option("--docs <folder>", "where results.md and results.jsonl are", "docs")
  .option("--seeds <number>", "runs of each model on each problem", number({ from: 1, whole: true }), 3)
  .option(
    "--again",
    "forgets the runs in results.jsonl; without it they count, and only missing ones are made",
  )
  .parse(["deno", "results", ...Deno.args]);

await main(async () => {
  prepareDrivers();
  const { data, docs, seeds, again } = program.opts<
    { data: string; docs: string; seeds: number; again?: true }
  >();
  const [page, lines] = [`${docs}/results.md`, `${docs}/results.jsonl`];
  if (again) await writeAtomically(lines, "");
  const configs = comparedConfigs(seeds);
  const text = await readTextIfPresent(lines) ?? "";
  const ended: ComparedRun[] = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const missing = missingRuns(configs, ended);
  for (const [i, config] of missing.entries()) {
    const before = processorSeconds();
    const run = await startRun({ ...config, data: dataIn(data, config.experiment) }, "runs/results");
    const { summary } = await execute(run, {});
    const done = comparedRun(config, summary!, processorSeconds() - before);
    ended.push(done);
    await Deno.writeTextFile(lines, `${JSON.stringify(done)}\n`, { append: true });
    console.log(
      `${i + 1}/${missing.length} ${config.experiment}, ${100 * config.drop} % dropped, ${config.model}, ` +
        `seed ${config.seed}: ${formatMeasure("accuracy", done.accuracy)}, ${
          formatSeconds(done.processorSeconds)
        }`,
    );
  }
  const wanted = ended.filter((run) => missingRuns(configs, [run]).length < configs.length);
  const tables = comparisonTables(wanted);
  await writeAtomically(page, replaceSection(await Deno.readTextFile(page), "tables", tables));
  return 0;
});

/** Of this process, all its threads together. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
