/**
 * Attacks that each test one guarantee: valid files that do not match the weights, and answers for series in
 * other batches.
 */
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { readRecord, writeRecord } from "../../src/train/run/record.ts";
import type { Choices } from "./choices.ts";
import { callHere, faultOfOutcome } from "./commands.ts";
import { type AttackedRun, callOf, copyFolder, type Use, type World } from "./world.ts";

type CaseReport = [what: string, fault?: string];

/**
 * A run whose metrics, settings or data record are valid, but do not belong to its weights. It must be
 * rejected.
 */
export async function otherCase(world: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const change = choices.of([changeMetrics, changeSettings, changeRecord]);
  const isFit = ({ command }: Use) => change !== changeMetrics || command === "train";
  const hasRecord = ({ name }: AttackedRun) => change === changeSettings || name !== "waves";
  const run = choices.of(world.runs.filter((run) => hasRecord(run) && run.uses.some(isFit)));
  const use = choices.of(run.uses.filter(isFit));
  const path = `${scratch}/run`;
  await copyFolder(run.path, path);
  const what = `${run.name}: ${await change(path, choices)}; ${use.command} ${use.args.join(" ")}`;
  const outcome = await callHere(callOf(use, path));
  return [
    what,
    outcome.code === 0 ? `accepted without an error: ${outcome.stdout}` : faultOfOutcome(outcome),
  ];
}

/** Changes a number in the metrics of a complete epoch. */
async function changeMetrics(path: string, choices: Choices): Promise<string> {
  const file = `${path}/metrics.jsonl`;
  const lines = (await Deno.readTextFile(file)).trimEnd().split("\n");
  const line = choices.below(lines.length);
  const metrics = JSON.parse(lines[line]);
  const numbers = Object.keys(metrics).filter((name) =>
    name !== "epoch" && Number.isFinite(metrics[name]) && metrics[name] !== 0
  );
  const name = choices.of(numbers);
  metrics[name] *= 2;
  await Deno.writeTextFile(file, `${lines.with(line, JSON.stringify(metrics)).join("\n")}\n`);
  return `metrics.jsonl, line ${line + 1}: ${name} doubled`;
}

/** Changes a setting that does not affect the shapes of the weights. */
async function changeSettings(path: string, choices: Choices): Promise<string> {
  const file = `${path}/config.json`;
  const config = JSON.parse(await Deno.readTextFile(file));
  const name = choices.of(["seed", "learningRate", "batchSize"]);
  const value = config[name] === 0 ? 1 : config[name] * 2;
  await Deno.writeTextFile(file, JSON.stringify({ ...config, [name]: value }));
  return `config.json: ${name} is ${value}`;
}

/** Changes how the data record prepares the data, and updates its digest. */
async function changeRecord(path: string, choices: Choices): Promise<string> {
  const file = `${path}/data.json`;
  const record = (await readRecord(file)) as unknown as DataRecord;
  const { channels, classes, time } = record;
  const [first, ...rest] = channels;
  const [what, other] = choices.of(
    [
      ["another mean", { channels: [{ ...first, mean: first.mean + 1 }, ...rest] }],
      ["another deviation", {
        channels: [{ ...first, standardDeviation: 2 * first.standardDeviation }, ...rest],
      }],
      ["classes in another order", { classes: classes.toReversed() }],
      ["another time scale", { time: { ...time, scale: 2 * time.scale } }],
    ] as const,
  );
  await writeRecord(file, { ...record, ...other });
  return `data.json: ${what}`;
}

/** Classifies series together with fewer series, or with a longer one. Their answers must not change. */
export async function companyCase(world: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const run = world.runs.find(({ name }) => name === "series")!;
  const [header, ...rows] = (await Deno.readTextFile(world.unlabelled)).trimEnd().split("\n");
  const seriesOf = (row: string) => row.split(",")[0];
  const names = [...new Set(rows.map(seriesOf))];
  const chosen = choices.chance(0.5) ? [choices.of(names)] : names.filter(() => choices.chance(0.6));
  const length = choices.chance(0.5) || chosen.length === 0 ? 20 + choices.below(30) : 0;
  const longer = Array.from({ length }, (_, t) => `longer,${t},${t % 7},0.9`);
  const path = `${scratch}/table.csv`;
  const kept = rows.filter((row) => chosen.includes(seriesOf(row)));
  await Deno.writeTextFile(path, `${[header, ...kept, ...longer].join("\n")}\n`);
  const what = `table of ${chosen.join(", ")}${length ? ` and one of ${length} rows` : ""}; predict`;
  const outcome = await callHere(callOf({ command: "predict", args: [path, "--device", "cpu"] }, run.path));
  if (outcome.code !== 0) return [what, `refused: ${outcome.stderr}`];
  const known = answersOf(run.uses.find(({ command }) => command === "predict")!.result.timelessOutput);
  const now = answersOf(outcome.stdout);
  const isSame = (name: string) => {
    const [before, after] = [known.get(name), now.get(name)];
    // With another number of series, sums may be computed in another order.
    return before && after && before.label === after.label &&
      Math.abs(before.probability - after.probability) < 1e-5;
  };
  const wrong = chosen.filter((name) => !isSame(name));
  return [what, wrong.length > 0 ? `other answers for ${wrong}: ${outcome.stdout}` : faultOfOutcome(outcome)];
}

/** Answers of `predict`, by name of the series. */
function answersOf(text: string): Map<string, { label: string; probability: number }> {
  return new Map(
    text.trim().split("\n").map((line) => JSON.parse(line)).map((answer) => [answer.series, answer]),
  );
}
