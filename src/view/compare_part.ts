/** Runs of a folder side by side: a table that sorts, overlaid curves, and settings that differ. */
import { formatDuration } from "../charts/format.ts";
import { renderSection } from "../charts/render.ts";
import type { Cell, HeadCell, Section } from "../charts/section.ts";
import { formatMeasure, measureName, sortMeasures } from "../train/report/measure_names.ts";
import { curveCharts, type CurveChoice } from "./curves.ts";
import { stateText } from "./run_part.ts";
import { runStates, type ViewedRun } from "./runs.ts";
import { compareSettings, settingsInWords, settingsTable } from "./settings.ts";

/** Selected runs, their order, and how their curves are drawn: the query of the page's address. */
export interface Selection extends CurveChoice {
  /** Parts of the run's name, or settings such as `learning-rate=0.01`. A run must have all of them. */
  readonly words: string;
  /** State of the runs; "" for all. */
  readonly state: string;
  /** Experiment of the runs; "" for all. */
  readonly experiment: string;
  /** Column that sorts the runs. */
  readonly sort: string;
  readonly order: "ascending" | "descending";
}

/** Maximum number of runs in charts and in the table of settings: the number of colours. */
const maxCurves = 8;

/** Maximum number of runs in the table. */
const maxRows = 500;

/** Maximum number of columns for settings, and of columns for the measures of a part. */
const [maxSettings, maxMeasures] = [8, 2];

/** Reads a selection from the query of an address. Unknown values select the default. */
export function selectionOf(query: URLSearchParams): Selection {
  const state = query.get("state") ?? "";
  const chosen = <T extends string>(name: string, values: readonly T[]) =>
    values.find((value) => value === query.get(name)) ?? values[0];
  const number = (name: string, otherwise: number) => {
    const value = Number.parseFloat(query.get(name) ?? "");
    return Number.isNaN(value) ? otherwise : value;
  };
  return {
    words: query.get("words") ?? "",
    state: (runStates as readonly string[]).includes(state) ? state : "",
    experiment: query.get("experiment") ?? "",
    sort: query.get("sort") ?? "run",
    order: chosen("order", ["descending", "ascending"]),
    smoothing: Math.max(0, Math.min(0.99, number("smoothing", 0))),
    scale: chosen("scale", scales),
    seeds: chosen("seeds", seedChoices),
    from: number("from", -Infinity),
    to: number("to", Infinity),
  };
}

/** Valid values of choices, the default first. */
export const scales = ["auto", "linear", "log"] as const;
export const seedChoices = ["each", "mean"] as const;

/** The query of a selection, without defaults. */
function queryOf(selection: Selection): string {
  const defaults = selectionOf(new URLSearchParams());
  const parts = Object.entries(selection).filter(([name, value]) =>
    value !== defaults[name as keyof Selection]
  );
  return `?${new URLSearchParams(parts.map(([name, value]) => [name, `${value}`]))}`;
}

function isSelected(run: ViewedRun, { words, state, experiment }: Selection): boolean {
  if (state !== "" && run.state !== state) return false;
  if (experiment !== "" && run.config.experiment !== experiment) return false;
  const settings = [...settingsInWords(run)].map(([name, value]) => `${name.replaceAll(" ", "-")}=${value}`);
  return words.split(/\s+/).every((word) => run.name.includes(word) || settings.includes(word));
}

/** A column of the table. */
interface Column {
  readonly title: string;
  readonly isText?: boolean;
  /** Value of a run, for sorting. Undefined values are last. */
  value(run: ViewedRun): string | number | undefined;
  cell(run: ViewedRun): Cell;
}

/** Validation measures of a run: of the best epoch, or of the last one without a summary. */
function validationOf({ metrics, summary }: ViewedRun): Readonly<Record<string, number>> {
  const best = metrics.find(({ epoch }) => epoch === summary?.bestEpoch) ?? metrics.at(-1);
  return best?.validation ?? {};
}

function measureColumns(
  runs: readonly ViewedRun[],
  part: "validation" | "test",
  of: (run: ViewedRun) => Readonly<Record<string, number>>,
): [id: string, column: Column][] {
  const names = sortMeasures(runs.flatMap((run) => Object.keys(of(run)))).slice(0, maxMeasures);
  return names.map((name) => [`${part} ${name}`, {
    title: `${part} ${measureName(name)}`,
    value: (run) => of(run)[name],
    cell: (run) => name in of(run) ? formatMeasure(name, of(run)[name]) : "–",
  }]);
}

function columnsOf(runs: readonly ViewedRun[]): ReadonlyMap<string, Column> {
  const settings = new Map(runs.map((run) => [run, settingsInWords(run)]));
  const setting = (name: string): [string, Column] => {
    const text = (run: ViewedRun) => settings.get(run)?.get(name);
    const value = (run: ViewedRun) => {
      const cellText = text(run);
      return cellText !== undefined && Number.isFinite(Number(cellText)) ? Number(cellText) : cellText;
    };
    return [`setting ${name}`, { title: name, isText: true, value, cell: (run) => text(run) ?? "–" }];
  };
  const seconds = ({ summary, metrics }: ViewedRun) => summary?.seconds ?? metrics.at(-1)?.seconds;
  return new Map<string, Column>([
    ["run", {
      ...{ title: "run", isText: true },
      value: ({ name }) => name,
      cell: ({ name }) => ({ text: name, href: `run?${new URLSearchParams({ name })}` }),
    }],
    ["state", { title: "state", isText: true, value: stateText, cell: stateText }],
    ...measureColumns(runs, "test", ({ summary }) => summary?.test ?? {}),
    ...measureColumns(runs, "validation", validationOf),
    ...compareSettings(runs).differing.slice(0, maxSettings).map(setting),
    ["epochs", {
      title: "complete epochs",
      value: ({ metrics }) => metrics.length,
      cell: ({ metrics, progress }) =>
        progress?.epochs === undefined ? `${metrics.length}` : `${metrics.length} of ${progress.epochs}`,
    }],
    ["time", {
      title: "training time",
      value: seconds,
      cell: (run) => seconds(run) === undefined ? "–" : formatDuration(seconds(run)!),
    }],
  ]);
}

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts runs by a column. */
function sorted(runs: readonly ViewedRun[], { value }: Column, order: Selection["order"]): ViewedRun[] {
  const sign = order === "ascending" ? 1 : -1;
  return runs.toSorted((a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === undefined || second === undefined) {
      return Number(first === undefined) - Number(second === undefined);
    }
    return typeof first === "number" && typeof second === "number"
      ? sign * (first - second)
      : sign * collator.compare(`${first}`, `${second}`);
  });
}

function isPart({ from, to }: CurveChoice): boolean {
  return from !== -Infinity || to !== Infinity;
}

/** The part of the page that changes: the charts and the tables of the selected runs. */
export function comparePart(runs: readonly ViewedRun[], selection: Selection): string {
  const selected = runs.filter((run) => isSelected(run, selection));
  const count = `<p>${selected.length} of ${runs.length} runs.</p>`;
  if (selected.length === 0) return count;
  const columns = columnsOf(selected);
  const by = columns.has(selection.sort) ? selection.sort : "run";
  const rows = sorted(selected, columns.get(by)!, selection.order).slice(0, maxRows);
  const shown = rows.slice(0, maxCurves);
  const head = [...columns].map(([id, { title }]): HeadCell => {
    const isDescending = id === by && selection.order === "descending";
    const order = isDescending ? "ascending" : "descending";
    return {
      text: title,
      href: queryOf({ ...selection, sort: id, order }),
      ...(id === by ? { order: selection.order } : {}),
    };
  });
  const table: Section = {
    kind: "table",
    title: "Runs",
    text:
      "A column title sorts the table. Settings have a column if they differ. Validation measures are those of the best " +
      "epoch, or of the last one while a run trains.",
    head,
    rows: rows.map((run) => [...columns.values()].map(({ cell }) => cell(run))),
    texts: [...columns.values()].flatMap(({ isText }, i) => isText ? [i] : []),
  };
  const charts: Section = {
    kind: "charts",
    title: "Curves",
    text: [
      ...rows.length > shown.length ? [`The first ${shown.length} runs of the table.`] : [],
      ...isPart(selection) ? ["Some epochs only: a double click draws all."] : [],
    ].join(" "),
    charts: curveCharts(shown, selection),
  };
  const sections = [table, ...(charts.charts.length > 0 ? [charts] : []), settingsTable(shown)];
  return [count, ...sections.map(renderSection)].join("\n");
}
