/** Renders a table with the results of its runs as Markdown, as a web page, and as CSV. */
import {
  type Cell,
  type Chart,
  formatDuration,
  type Mark,
  readOutcome,
  renderSections,
  type RunOutcome,
  type RunStart,
  type RunSummary,
  type Section as PageSection,
  statistics,
} from "@weft/weft/train";
import { csvOf } from "@weft/weft/series";
import { markdownTable } from "../../markdown.ts";
import { readJsonLines } from "../files.ts";
import { adjustHolm, type PairedTest } from "./paired_test.ts";
import {
  type PaperTable,
  type Published,
  type Scale,
  scaleOf,
  type TableColumn,
  type TableRow,
  type TableRun,
} from "./table.ts";

/** A run and its current result. */
export interface MadeRun extends TableRun {
  /** `undefined` until the run has ended. */
  readonly outcome?: RunOutcome;
  /** The last process that worked on the run. */
  readonly start?: RunStart;
}

/** Reads the results of runs. */
export async function readRuns(runs: readonly TableRun[]): Promise<MadeRun[]> {
  return await Promise.all(runs.map(async (run) => ({
    ...run,
    outcome: await readOutcome(run.folder, run.config.epochs),
    start: (await readJsonLines<RunStart>(run.folder.starts)).at(-1),
  })));
}

/** A table with its results, ready to be rendered. */
export interface FilledTable {
  readonly table: PaperTable;
  readonly scale: Scale;
  readonly runs: readonly MadeRun[];
  /** The test of significance, if it could be loaded. */
  readonly test?: PairedTest;
}

/** A part of the rendered table. The first row is its header. */
interface Section {
  readonly title: string;
  readonly note: string;
  readonly rows: readonly (readonly string[])[];
  /** Bold or underlined cells of the page, by their positions below the header. */
  readonly marks?: readonly { readonly row: number; readonly column: number; readonly mark: "b" | "u" }[];
  /** Columns that hold text. */
  readonly texts?: readonly number[];
}

/** Metrics of the run itself. */
const ofRun: Readonly<Record<string, (summary: RunSummary) => number>> = {
  "seconds an epoch": ({ seconds, epochs }) => seconds / epochs,
  "peak memory": ({ peakMemory = NaN }) => peakMemory,
};

/** Values of a metric of completed runs, in the unit of the column. */
function valuesOf(runs: readonly MadeRun[], { measure, factor }: TableColumn): number[] {
  return runs.flatMap(({ outcome }) =>
    outcome && "summary" in outcome
      ? [factor * (ofRun[measure]?.(outcome.summary) ?? outcome.summary.test[measure])]
      : []
  );
}

/** The rows with the best and the second best mean of a column. */
function leaders(filled: FilledTable, column: TableColumn): TableRow[] {
  const sign = column.better === "large" ? -1 : 1;
  return filled.table.rows
    .map((row) => ({ row, values: valuesOf(runsOf(filled, row, column), column) }))
    .filter(({ values }) => values.length > 0)
    .sort((a, b) => sign * (statistics(a.values).mean - statistics(b.values).mean))
    .slice(0, 2).map(({ row }) => row);
}

/**
 * "97.1 ± 0.4 (3)": the mean, the standard deviation and the number of seeds. A single value has no standard
 * deviation.
 */
function measured(runs: readonly MadeRun[], column: TableColumn): string {
  const values = valuesOf(runs, column);
  const failed = runs.filter(({ outcome }) => outcome && "failure" in outcome).length;
  const { mean, standardDeviation } = statistics(values);
  const [center, error] = [mean, standardDeviation].map((value) => value.toFixed(column.digits));
  return [
    ...(values.length > 1
      ? [`${center} ± ${error} (${values.length})`]
      : values.length > 0
      ? [`${center} (1)`]
      : []),
    ...(failed > 0 ? [`${failed} diverged`] : []),
  ].join(", ");
}

function published(value: Published | undefined | null): string {
  return value ? value.join(" ± ") : value === null ? "-" : "";
}

function runsOf({ runs }: FilledTable, row: TableRow, column: TableColumn): MadeRun[] {
  return runs.filter((run) => run.row === row && run.columns.includes(column));
}

function measures(filled: FilledTable): Section {
  const { table, scale, runs } = filled;
  const made = table.columns.filter((column) =>
    runs.some(({ outcome, columns }) => outcome && columns.includes(column))
  );
  // Columns without a run would hide the others on a narrow screen.
  const columns = made.length > 0 ? made : table.columns;
  const { differs } = scaleOf(table, scale);
  const ended = runs.filter(({ outcome }) => outcome).length;
  const notices = new Set(
    runs.flatMap(({ outcome }) => outcome && "summary" in outcome ? outcome.summary.notices ?? [] : []),
  );
  return {
    title: `Measured here, and in the paper`,
    note:
      `Mean ± standard deviation (number of seeds). The web page shows the best in bold and underlines the second best. ${ended} of ${runs.length} runs have ended. Scale ${scale}: ${
        [differs, ...notices].join(" ")
      }`,
    rows: [
      ["model", ...columns.flatMap(({ title }) => [title, "paper"])],
      ...table.rows.map((row) => [
        row.title,
        ...columns.flatMap((column) => [
          measured(runsOf(filled, row, column), column),
          published(row.published?.[table.columns.indexOf(column)]),
        ]),
      ]),
    ],
    marks: columns.flatMap((column, i) =>
      leaders(filled, column).map((row, place) => ({
        row: table.rows.indexOf(row),
        column: 1 + 2 * i,
        mark: place === 0 ? "b" : "u",
      } as const))
    ),
  };
}

/** Values of two rows in a column for the seeds that both have, in the same order. */
function pairsOf(filled: FilledTable, rows: readonly [TableRow, TableRow], column: TableColumn): number[][] {
  const bySeed = rows.map((row) =>
    new Map(
      runsOf(filled, row, column).flatMap((run) =>
        valuesOf([run], column).map((value) => [run.config.seed, value])
      ),
    )
  );
  const seeds = [...bySeed[0].keys()].filter((seed) => bySeed[1].has(seed));
  return bySeed.map((values) => seeds.map((seed) => values.get(seed)!));
}

function tests(filled: FilledTable): Section | undefined {
  const { table, table: { columns, reference }, test } = filled;
  const compared = table.rows.find(({ model }) => model === reference);
  if (!compared || !test) return undefined;
  const others = table.rows.filter((row) => row !== compared);
  const found = others.flatMap((row) =>
    columns.map((column) => {
      const [one, other] = pairsOf(filled, [row, compared], column);
      return test(one, other);
    })
  );
  const adjusted = adjustHolm(found);
  const count = found.filter((probability) => !Number.isNaN(probability)).length;
  if (count === 0) return undefined;
  const text = (i: number) =>
    Number.isNaN(found[i]) ? "" : `${found[i].toPrecision(2)} (${adjusted[i].toPrecision(2)})`;
  return {
    title: `Paired t test against ${compared.title}`,
    note: "The p-value, and in parentheses that adjusted by Holm's method for all " +
      `${count} comparisons of the table. Runs with the same seed are pairs. Differences with an adjusted p-value ` +
      "below 0.05 are significant at the level of 0.05.",
    rows: [
      ["model", ...columns.map(({ title }) => title)],
      ...others.map((row, i) => [row.title, ...columns.map((_, j) => text(i * columns.length + j))]),
    ],
  };
}

function costs({ table, runs }: FilledTable): Section {
  const groups = Map.groupBy(
    runs.filter(({ outcome }) => outcome && "summary" in outcome),
    ({ row, columns }) => `${table.rows.indexOf(row)} ${columns.map(({ title }) => title).join(" and ")}`,
  );
  const rows = [...groups.values()].map((group) => {
    const summaries = group.map(({ outcome }) =>
      (outcome as Extract<RunOutcome, { summary: unknown }>).summary
    );
    const mean = (of: (one: typeof summaries[number]) => number) => statistics(summaries.map(of)).mean;
    return [
      group[0].row.title,
      group[0].columns.map(({ title }) => title).join(" and "),
      summaries[0].parameters.toLocaleString("en"),
      mean(({ epochs }) => epochs).toFixed(0),
      formatDuration(mean(({ seconds, epochs }) => seconds / epochs)),
      `${(mean(ofRun["peak memory"]) / 1e6).toFixed(0)} MB`,
      summaries[0].deviceDescription,
    ];
  });
  return {
    title: "Costs",
    note: "Means over the seeds. Peak memory is that of the whole process, including Deno and the data.",
    rows: [
      ["model", "columns", "parameters", "epochs", "time of an epoch", "peak memory", "device"],
      ...rows,
    ],
    texts: [0, 1, 6],
  };
}

/** Metrics of a completed run, or the reason of its failure. */
export function runText(run: MadeRun): string {
  if (run.outcome && "failure" in run.outcome) return run.outcome.failure;
  return run.columns.map((column) => `${column.title} ${valuesOf([run], column)[0].toFixed(column.digits)}`)
    .join(", ");
}

function origins({ runs }: FilledTable): Section {
  return {
    title: "Runs",
    note: "The command and the Git commit of each run.",
    rows: [
      ["model", "seed", "measures", "commit", "command"],
      ...runs.filter(({ outcome }) => outcome).map((run) => [
        run.row.title,
        `${run.config.seed}`,
        runText(run),
        run.start?.commit?.slice(0, 10) ?? "",
        run.start?.command ?? "",
      ]),
    ],
    texts: [0, 2, 3, 4],
  };
}

function sections(filled: FilledTable): Section[] {
  return [measures(filled), tests(filled), costs(filled), origins(filled)].filter((section) =>
    section !== undefined
  );
}

/** Only the metrics, for a terminal. */
export function measuresText(filled: FilledTable): string {
  return markdownTable(measures(filled).rows);
}

/** The whole table in Markdown. */
export function tableMarkdown(filled: FilledTable): string {
  const { table } = filled;
  const parts = sections(filled).map(({ title, note, rows, texts }) =>
    `## ${title}\n\n${note}\n\n${markdownTable(rows, texts)}\n`
  );
  return `# ${table.title}\n\n${table.source}.\n\n${parts.join("\n")}`;
}

/** Bars of the rows with results, for each column with results. */
function barsOf(filled: FilledTable, title: string): Chart[] {
  const { table: { rows, columns } } = filled;
  return columns.flatMap((column): Chart[] => {
    const made = rows.flatMap((row) => {
      const values = valuesOf(runsOf(filled, row, column), column);
      return values.length > 0 ? [{ name: row.title, mean: statistics(values).mean }] : [];
    });
    if (made.length === 0) return [];
    return [{
      title: column.title,
      panels: [{
        x: { title },
        y: { title: "model", categories: made.map(({ name }) => name) },
        marks: [{ kind: "bars", name: title, values: made.map(({ mean }) => mean) }],
      }],
    }];
  });
}

/** The figure of the table, if the paper has one, with all available means. */
function chartsOf(filled: FilledTable): Chart[] {
  const { table: { title, chart, rows, columns } } = filled;
  if (!chart) return [];
  if ("bars" in chart) return barsOf(filled, chart.bars);
  const marks = rows.flatMap((row): Mark[] => {
    const points = columns.flatMap((column, i) => {
      const values = valuesOf(runsOf(filled, row, column), column);
      return values.length > 0 ? [{ x: chart.x[i], y: statistics(values).mean }] : [];
    });
    if (points.length === 0) return [];
    return [{ kind: "line", name: row.title, x: points.map(({ x }) => x), y: points.map(({ y }) => y) }];
  });
  if (marks.length === 0) return [];
  const [x, y] = [chart.xLabel, chart.yLabel].map((title) => ({ title, scale: "auto" } as const));
  return [{ title, panels: [{ x, y, marks }] }];
}

/** The whole table as a self-contained page. */
export function tablePage(filled: FilledTable): string {
  const { table } = filled;
  const charts = chartsOf(filled);
  const parts = sections(filled).map((
    { title, note, rows: [head, ...body], marks = [], texts },
  ): PageSection => ({
    kind: "table",
    title,
    text: note,
    head,
    texts,
    rows: body.map((cells, row) =>
      cells.map((text, column): Cell => {
        const marked = marks.find((one) => one.row === row && one.column === column)?.mark;
        return marked ? { text, mark: marked === "b" ? "best" : "second" } : text;
      })
    ),
  }));
  return renderSections(table.title, `${table.source}.`, [
    ...(charts.length > 0 ? [{ kind: "charts", title: "Means", charts } as const] : []),
    ...parts,
  ]);
}

/** A line for each completed run and each of its columns. */
export function tableCsv({ table, scale, runs }: FilledTable): string {
  const head =
    ("table,scale,model,column,seed,value,published,published deviation,parameters,epochs,seconds an epoch," +
      "peak memory in bytes,device,failure,commit,command").split(",");
  const lines = runs.filter(({ outcome }) => outcome).flatMap((run) => {
    const { row, config, columns, outcome, start } = run;
    return columns.map((column) => {
      const [mean = "", deviation = ""] = row.published?.[table.columns.indexOf(column)] ?? [];
      const summary = outcome && "summary" in outcome ? outcome.summary : undefined;
      return [
        ...[table.name, scale, row.title, column.title, config.seed, valuesOf([run], column)[0] ?? ""],
        ...[mean, deviation, summary?.parameters ?? "", summary?.epochs ?? ""],
        summary ? summary.seconds / summary.epochs : "",
        ...[summary?.peakMemory ?? "", summary?.deviceDescription ?? ""],
        outcome && "failure" in outcome ? outcome.failure : "",
        ...[start?.commit ?? "", start?.command ?? ""],
      ];
    });
  });
  return `${csvOf([head, ...lines])}\n`;
}
