/** Trains each learning rule on the long recall task; writes its table into docs/fast_weights.md, and its figure. */
import { init } from "../src/device/init.ts";
import { appendJsonLine, readJsonLines, writeAtomically } from "../src/files/disk.ts";
import {
  recallFigure,
  recallRules,
  type RecallRun,
  recallSetting,
  recallTable,
  trainRecall,
} from "../src/train/recall.ts";
import { replaceSection } from "../src/train/markdown.ts";
import { command, main, number, prepareDrivers } from "./command.ts";

const program = command("recall", "Trains each learning rule on the long recall task")
  .option("--docs <folder>", "where fast_weights.md, recall.jsonl and figures/ are", "docs")
  .option("--seeds <number>", "runs of each rule", number({ from: 1, whole: true }), 3)
  .option(
    "--again",
    "forgets the runs in recall.jsonl; without it they count, and only missing ones are made",
  );

await main(async (args) => {
  program.parse(args, { from: "user" });
  prepareDrivers();
  const { docs, seeds, again } = program.opts<{ docs: string; seeds: number; again?: true }>();
  const [page, lines] = [`${docs}/fast_weights.md`, `${docs}/recall.jsonl`];
  await init({ device: "cpu" });
  if (again) await writeAtomically(lines, "");
  const ended = await readJsonLines<RecallRun>(lines);
  for (let seed = 0; seed < seeds; seed++) {
    for (const rule of Object.keys(recallRules)) {
      if (ended.some((run) => run.rule === rule && run.seed === seed)) continue;
      const run = await trainRecall(rule, seed, recallSetting);
      ended.push(run);
      await appendJsonLine(lines, run);
      const tests = run.tests.map(({ length, accuracy }) => `${length}: ${(100 * accuracy).toFixed(1)} %`);
      console.log(`${rule}, seed ${seed}: ${tests.join(", ")}`);
    }
  }
  const wanted = ended.filter(({ seed }) => seed < seeds);
  await writeAtomically(`${docs}/figures/recall.svg`, recallFigure(wanted));
  await writeAtomically(page, replaceSection(await Deno.readTextFile(page), "recall", recallTable(wanted)));
  return 0;
});
