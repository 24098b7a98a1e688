/**
 * Writes the returns of runs with MuJoCo against their decisions, as docs/tables/NAME.csv and docs/figures/NAME.svg:
 *
 *     deno task bench learning-curves swimmer runs/one runs/other --commit HASH
 */
import { chartFile } from "../src/charts/file.ts";
import { main } from "../src/commands/command.ts";
import { readJsonLines, writeAtomically } from "../src/files/disk.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import { mujoco } from "../tasks/papers/recipes/mujoco.ts";
import { benchCommand } from "./programs.ts";

/** The settings of a run that the table needs. */
interface CurveConfig {
  readonly experiment: string;
  readonly model: string;
  readonly seed: number;
  readonly epochs: number;
  readonly decisions: number;
}

/** A run: its settings, and the metrics of its complete epochs. */
export interface CurveRun {
  readonly config: CurveConfig;
  readonly epochs: readonly EpochMetrics[];
}

/** Reads a folder of a run, which may still train. */
async function readRun(folder: string): Promise<CurveRun> {
  return {
    config: JSON.parse(await Deno.readTextFile(`${folder}/config.json`)),
    epochs: await readJsonLines<EpochMetrics>(`${folder}/metrics.jsonl`),
  };
}

/** Number of decisions at the end of an epoch. */
function decisionsAfter({ decisions }: CurveConfig, epoch: number): number {
  return (mujoco.rules.randomIterations.value + epoch - 1) * decisions;
}

/**
 * A row for each epoch: the return of the test episodes and the minutes of training of each run. Cells of epochs that a
 * run does not have are empty.
 *
 * @param commit Commit of the runs.
 * @throws {Error} If the runs have different numbers of decisions in an epoch, or different problems.
 */
export function curveTable(runs: readonly CurveRun[], commit: string): string {
  const [{ config: first }] = runs;
  const other = runs.find(({ config }) =>
    config.experiment !== first.experiment || config.decisions !== first.decisions
  );
  if (other) {
    throw new Error(
      `learning-curves: runs of ${first.experiment} with ${first.decisions} decisions and of ` +
        `${other.config.experiment} with ${other.config.decisions}; expected the same problem and decisions`,
    );
  }
  const models = runs.map(({ config }) => config.model);
  const command =
    `"deno task train ${first.experiment} --device cpu --epochs ${first.epochs} --seed ${first.seed}` +
    ` # --model ${models.join(" and --model ")}"`;
  const count = Math.max(...runs.map(({ epochs }) => epochs.length));
  const rows = Array.from({ length: count }, (_, i) => {
    const cells = runs.map(({ epochs }) => epochs[i]);
    return [
      decisionsAfter(first, i + 1).toLocaleString("en"),
      ...cells.map((epoch) => epoch?.train.return.toFixed(1) ?? ""),
      ...cells.map((epoch) => epoch ? (epoch.seconds / 60).toFixed(0) : ""),
    ].map((cell) => cell.includes(",") ? `"${cell}"` : cell).concat(command, commit);
  });
  const head = ["decisions", ...models, ...models.map((model) => `minutes of ${model}`), "command", "commit"];
  return [head, ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

/** The returns of the test episodes against decisions, a line for each run, as an SVG file. */
export function curveFigure(runs: readonly CurveRun[]): string {
  return chartFile([{
    title: "Return of the actor in five test episodes",
    panels: [{
      x: { title: "decisions" },
      y: { title: "return", includes: [0] },
      marks: runs.map(({ config, epochs }) => ({
        ...{ kind: "line", name: config.model },
        x: epochs.map(({ epoch }) => decisionsAfter(config, epoch)),
        y: epochs.map(({ train }) => train.return),
      })),
    }],
  }]);
}

if (import.meta.main) {
  await main(async (args) => {
    const program = benchCommand("learning-curves")
      .argument("<name>", "name of the table and of the figure")
      .argument("<runs...>", "folders of runs")
      .requiredOption("--commit <hash>", "commit of the runs")
      .option("--docs <folder>", "folder with tables/ and figures/", "docs")
      .parse(args, { from: "user" });
    const { docs, commit } = program.opts<{ docs: string; commit: string }>();
    const [name, folders] = program.processedArgs as [string, string[]];
    const runs = await Promise.all(folders.map(readRun));
    await writeAtomically(`${docs}/tables/${name}.csv`, curveTable(runs, commit));
    await writeAtomically(`${docs}/figures/${name}.svg`, curveFigure(runs));
    return 0;
  });
}
