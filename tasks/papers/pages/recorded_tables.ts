/** Tables of docs/ that are made from the recorded results in docs/tables/. */
import { statistics } from "@weft/weft/train";
import { readJsonLines } from "../files.ts";
import { markdownTable } from "../../markdown.ts";

/** Folder of the recorded results in a checkout, the current folder. */
const recordedFolder = "docs/tables";

/** A recorded table: the names of its columns, and its rows. */
export interface RecordedTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Columns of a recorded table that a page does not show: how each row was made. */
const hidden = ["command", "commit"];

/** Parses comma-separated values (RFC 4180) with a header. @throws {Error} If a row has another length. */
export function parseRecorded(text: string, file: string): RecordedTable {
  const fields = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g)];
  const lines: string[][] = [[]];
  for (const [whole, quoted, plain, end] of fields) {
    if (whole === "") break;
    lines.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "\n") lines.push([]);
  }
  const [head, ...rows] = lines.filter((line) => line.length > 0);
  const wrong = rows.find((row) => row.length !== head.length);
  if (wrong) {
    throw new Error(`${file}: a row with ${wrong.length} fields, expected ${head.length}: ${wrong.join()}`);
  }
  return { head, rows };
}

/** Reads docs/tables/NAME.csv. */
export async function readRecorded(name: string): Promise<RecordedTable> {
  const file = `${name}.csv`;
  return parseRecorded(await Deno.readTextFile(`${recordedFolder}/${file}`), file);
}

/** A recorded table as Markdown, in the form of `deno fmt`. Columns of numbers are aligned right. */
export function recordedMarkdown({ head, rows }: RecordedTable): string {
  const shown = head.flatMap((name, i) => hidden.includes(name) ? [] : [i]);
  const isNumeric = (i: number) => rows.every((row) => /^([-\d].*|)$/.test(row[i]));
  return markdownTable(
    [head, ...rows].map((row) => shown.map((i) => row[i])),
    shown.flatMap((i, place) => place === 0 || !isNumeric(i) ? [place] : []),
  );
}

/** Tables that are computed from the runs of `deno task reproduce`, by their names in a page. */
const computed: Readonly<Record<string, () => Promise<string>>> = {
  "ncde-table-1": ncdeTable1,
  "warp-lotka-volterra": lotkaVolterra,
  recall,
  "state-tracking": () => stateTracking(["parity", "C5", "S3", "A5"]),
  "state-tracking-languages": () => stateTracking(["even pairs", "cycle navigation", "arithmetic", "recall"]),
};

/** A line of a file of `deno task reproduce`: a run and one of its columns. */
type RunLine = Readonly<Record<string, string>>;

/** The test accuracies of a line of recall.jsonl. */
interface RecallTests {
  readonly rule: string;
  readonly tests: readonly { readonly length: number; readonly accuracy: number }[];
}

/** Reads a file that `deno task reproduce` wrote. */
async function readRuns(name: string): Promise<RunLine[]> {
  const { head, rows } = await readRecorded(name);
  return rows.map((row) => Object.fromEntries(head.map((title, i) => [title, row[i]])));
}

/** Mean and standard deviation of values, with a number of digits. */
function meanText(values: readonly number[], digits: number): string {
  const { mean, standardDeviation } = statistics(values);
  return `${mean.toFixed(digits)} ± ${standardDeviation.toFixed(digits)}`;
}

/** Mean and standard deviation of the values of runs, with a number of digits. */
function meanOf(lines: readonly RunLine[], digits: number): string {
  return meanText(lines.map(({ value }) => Number(value)), digits);
}

/** Test accuracies in percent of each rule on the long recall task, from the runs of `deno task bench recall`. */
async function recall(): Promise<string> {
  const runs = await readJsonLines<RecallTests>(`${recordedFolder}/recall.jsonl`);
  const rules = [...new Set(runs.map(({ rule }) => rule))];
  const lengths = runs[0].tests.map(({ length }) => length);
  return markdownTable([
    ["rule", ...lengths.map((length) => `${length.toLocaleString("en")} observations`)],
    ...rules.map((rule) => {
      const ofRule = runs.filter((run) => run.rule === rule);
      return [
        rule,
        ...lengths.map((_, i) => meanText(ofRule.map(({ tests }) => 100 * tests[i].accuracy), 1)),
      ];
    }),
  ]);
}

/** A line of state-tracking.jsonl. */
interface StateTrackingLine {
  readonly task: string;
  readonly model: string;
  readonly parameters: number;
  readonly short: number;
  readonly long: number;
}

/** Mean accuracies in percent of some tasks, from the runs of `deno task bench state-tracking`. */
async function stateTracking(tasks: readonly string[]): Promise<string> {
  const runs = await readJsonLines<StateTrackingLine>(`${recordedFolder}/state-tracking.jsonl`);
  const models = [...new Set(runs.map(({ model }) => model))];
  const rows = models.map((model) => [
    model,
    ...tasks.flatMap((task) => {
      const cell = runs.filter((run) => run.model === model && run.task === task);
      if (cell.length === 0) return ["", ""];
      return [
        meanText(cell.map(({ short }) => 100 * short), 1),
        meanText(cell.map(({ long }) => 100 * long), 1),
      ];
    }),
  ]);
  return markdownTable([[
    "model",
    ...tasks.flatMap((task) => [`${task}, trained length`, `${task}, longer`]),
  ], ...rows]);
}

/** Lotka-Volterra of WARP's table 2 at the small scale, and the errors of forecasts without a model. */
async function lotkaVolterra(): Promise<string> {
  const lines = await readRuns("warp-table-2-lotka-volterra");
  const baselines = await readRuns("lotka-volterra-baselines");
  const [half, absolute] = ["LV, MSE (10⁻²)", "LV, MAE (10⁻²)"];
  const models = [...new Set(lines.map(({ model }) => model))];
  const rows = models.map((model) => {
    const of = (column: string) => lines.filter((line) => line.model === model && line.column === column);
    return [
      model,
      Number(of(half)[0].parameters).toLocaleString("en"),
      ...[half, absolute].flatMap((column) => [meanOf(of(column), 2), of(column)[0].published]),
    ];
  });
  return markdownTable([
    ["model", "parameters", "half the squared error", "the paper's", "absolute error", "the paper's"],
    ...rows,
    ...baselines.map(({ forecast, half, absolute }) => [forecast, "", half, "", absolute, ""]),
  ]);
}

/** Table 1 of Kidger et al. from its runs: accuracies, and epochs and memory of seed 0 with 30 % dropped. */
async function ncdeTable1(): Promise<string> {
  const runs = await readRuns("ncde-table-1");
  const titles = ["30 % dropped", "50 % dropped", "70 % dropped"];
  const models = [...new Set(runs.map(({ model }) => model))];
  const table = models.map((model) => {
    const first = runs.find((run) => run.model === model && run.column === titles[0] && run.seed === "0")!;
    return [
      model,
      ...titles.flatMap((column) => {
        const cell = runs.filter((run) => run.model === model && run.column === column);
        const paper = [cell[0].published, cell[0]["published deviation"]].map((value) =>
          Number(value).toFixed(1)
        );
        return [meanOf(cell, 1), paper.join(" ± ")];
      }),
      first.epochs,
      `${Math.round(Number(first["peak memory in bytes"]) / 2 ** 20)}`,
    ];
  });
  const columns = titles.flatMap((title) => [title, "paper"]);
  return markdownTable([["", ...columns, "epochs", "MiB of memory"], ...table]);
}

const block = /(<!-- table: ([\w-]+) -->\n)[^]*?(<!-- end of table -->)/g;

/** Replaces the tables of a page by those of docs/tables/. */
export async function withRecordedTables(text: string): Promise<string> {
  const names = [...text.matchAll(block)].map(([, , name]) => name);
  const tables = new Map(
    await Promise.all(
      names.map(async (name) =>
        [name, await computed[name]?.() ?? recordedMarkdown(await readRecorded(name))] as const
      ),
    ),
  );
  return text.replaceAll(block, (_, start, name, end) => `${start}\n${tables.get(name)}\n\n${end}`);
}
