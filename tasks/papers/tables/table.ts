/** Tables of papers as data, and the runs that fill them. */
import { basename } from "node:path";
import { sha256 } from "../../../src/files/digest.ts";
import type { RunConfig } from "../../../src/train/config.ts";
import { defaultsOf, flag } from "../../../src/train/option.ts";
import { kindNamed, unreadSettings } from "../../../src/series/model_kind.ts";
import type { ForecastSettings, PaperSeriesSettings } from "../experiments/options.ts";
import { experimentNamed } from "../experiments/registry.ts";
import { type RunFolder, runFolder } from "../../../src/train/run_folder.ts";

/** The names of scales. */
export const scales = ["paper", "small"] as const;

/** The paper's sizes, or those that two cores train in minutes. */
export type Scale = typeof scales[number];

/** A number that a paper publishes: a mean and, where it tells it, the standard deviation. In the unit of its column. */
export type Published = readonly [mean: number, deviation?: number];

/** Settings of a row, a column or a table that are not the experiment's defaults. */
export type Chosen = Partial<Omit<PaperSeriesSettings & ForecastSettings, "seed" | "data">>;

/**
 * A column: a problem, and what is measured. Columns of the same settings are measured on the same runs. Settings of a column
 * go before those of the scale, and settings of a row before both.
 */
export interface TableColumn {
  /** As `30 % dropped`. */
  readonly title: string;
  /** Name of the experiment. */
  readonly experiment: string;
  /** Settings at both scales. */
  readonly settings?: Chosen;
  /** Settings at one of them. */
  readonly at?: Partial<Record<Scale, Chosen>>;
  /** Name of a measure of the test; or, of the run, `"seconds an epoch"` or `"peak memory"`, in bytes. */
  readonly measure: string;
  /** Factor from the measure to the column's unit: 100 for percent. */
  readonly factor: number;
  /** Digits after the decimal point. */
  readonly digits: number;
  /** Whether small or large is good. */
  readonly better: "small" | "large";
}

/** A column's measure: the accuracy of the test, in percent. */
export const accuracy = { measure: "accuracy", factor: 100, digits: 1, better: "large" } as const;

/** A row: a model. */
export interface TableRow {
  /** As the paper calls it. */
  readonly title: string;
  /** Name of the model, as `--model` takes it. */
  readonly model: string;
  /** Settings at both scales. */
  readonly settings?: Chosen;
  /** Settings at one of them. */
  readonly at?: Partial<Record<Scale, Chosen>>;
  /** The paper's settings in each column, where they differ from column to column. */
  readonly paper?: readonly (Chosen | undefined)[];
  /** The paper's number in each column: nothing where it publishes no number, null where it has no such run. */
  readonly published: readonly (Published | undefined | null)[];
}

/** Settings and seeds of a scale. */
export interface TableScale {
  /** Settings of all runs. */
  readonly settings?: Chosen;
  /** Number of seeds, from 0 on. */
  readonly seeds: number;
  /** Differences from the paper, for the reader of the table: a sentence. */
  readonly differs: string;
  /** Hours that all runs take two cores, roughly. */
  readonly hours: number;
}

/** A table of a paper. */
export interface PaperTable {
  /** As `ncde-table-1`. */
  readonly name: string;
  /** Title, in words. */
  readonly title: string;
  /** Authors, year and number of the table. */
  readonly source: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /** Lines of the rows, as the paper draws them: the place of each column on the axis below. */
  readonly chart?: { readonly x: readonly number[]; readonly xLabel: string };
  /** Model that the others are tested against. */
  readonly reference: string;
  /** The scales that it has: the paper's is left out where no paper has the table. */
  readonly scales: Readonly<Partial<Record<Scale, TableScale>>>;
}

/** A run that a table needs. */
export interface TableRun {
  readonly config: RunConfig;
  /** Named by the settings. */
  readonly folder: RunFolder;
  /** Row of the table. */
  readonly row: TableRow;
  /** Columns that it fills. */
  readonly columns: readonly TableColumn[];
}

/** Options of {@linkcode tableRuns}. */
interface TableRunsOptions {
  readonly scale: Scale;
  /** Seeds of each row and column; those of the scale by default. */
  readonly seeds?: readonly number[];
  /** Models; all rows' by default. */
  readonly models?: readonly string[];
  /** Experiments; all columns' by default. */
  readonly experiments?: readonly string[];
  readonly device?: RunConfig["device"];
  /** Folder of the data, `data` by default. */
  readonly data?: string;
  /** Folder in which the runs' folders are, `runs/tables` by default. */
  readonly out?: string;
}

/**
 * The runs of a table: the first seed of all rows and columns, then the second, ...
 *
 * @throws {RangeError} If the table has no such scale, or no row of a model or column of an experiment, with those that it has.
 */
export async function tableRuns(table: PaperTable, options: TableRunsOptions): Promise<TableRun[]> {
  const { scale, models, experiments, out = "runs/tables" } = options;
  const { seeds = Array.from({ length: scaleOf(table, scale).seeds }, (_, seed) => seed) } = options;
  requireAll(models, table.rows.map(({ model }) => model), `${table.name} has no row of the model`);
  requireAll(
    experiments,
    table.columns.map(({ experiment }) => experiment),
    `${table.name} has no column of the experiment`,
  );
  const runs = new Map<string, TableRun>();
  for (const seed of new Set(seeds)) {
    for (const row of table.rows) {
      if (models && !models.includes(row.model)) continue;
      for (const [i, column] of table.columns.entries()) {
        if (row.published[i] === null || experiments && !experiments.includes(column.experiment)) continue;
        const config = configOf(table, row, column, seed, options);
        const name = await runName(config);
        const columns = [...runs.get(name)?.columns ?? [], column];
        runs.set(name, { config, folder: runFolder(`${out}/${name}`), row, columns });
      }
    }
  }
  return [...runs.values()];
}

function requireAll(wanted: readonly string[] = [], known: readonly string[], message: string): void {
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new RangeError(`${message} "${unknown}"; it has ${[...new Set(known)].join(", ")}`);
}

/** A scale of a table. @throws {RangeError} If it has no such one, with those that it has. */
export function scaleOf({ name, scales }: PaperTable, scale: Scale): TableScale {
  const found = scales[scale];
  if (found) return found;
  throw new RangeError(`${name} has no scale "${scale}"; it has ${Object.keys(scales).join(", ")}`);
}

/** Configuration of a run of a table. */
type TableConfig = RunConfig & { readonly model: string; readonly hidden: number };

function configOf(
  table: PaperTable,
  row: TableRow,
  column: TableColumn,
  seed: number,
  { scale, device = "auto", data = "data" }: TableRunsOptions,
): RunConfig {
  const { experiment } = column;
  const defaults = defaultsOf(experimentNamed(experiment).options) as unknown as TableConfig;
  const config = {
    ...defaults,
    ...{ experiment, device, seed },
    ...(defaults.data === undefined ? {} : { data: dataIn(data, defaults.data) }),
    ...scaleOf(table, scale).settings,
    ...column.settings,
    ...column.at?.[scale],
    ...row.settings,
    ...row.at?.[scale],
    ...(scale === "paper" ? row.paper?.[table.columns.indexOf(column)] : {}),
    model: row.model,
  } as TableConfig;
  // Settings of all rows are not read by every model, and those that a row takes back are undefined.
  const unread: readonly string[] = unreadSettings(experimentNamed(experiment), config);
  const { takes } = kindNamed(experimentNamed(experiment).models(), row.model);
  return Object.fromEntries(
    Object.entries({ ...config, hidden: (takes.includes("hidden") ? config : defaults).hidden }).filter((
      [name, value],
    ) => value !== undefined && !unread.includes(name)),
  ) as unknown as RunConfig;
}

/** A path below `data/`, in another folder. */
export function dataIn(folder: string, path: string): string {
  return path.replace(/^data/, () => folder.replace(/(?<=.)\/+$/, ""));
}

/** A name that is the same for the same settings alone, wherever the data are and whatever computes. */
async function runName({ device: _, blas: __, ...config }: RunConfig): Promise<string> {
  const named = { ...config, ...(config.data === undefined ? {} : { data: basename(config.data) }) };
  const text = JSON.stringify(Object.entries(named).sort(([a], [b]) => a < b ? -1 : 1));
  const digest = await sha256(new TextEncoder().encode(text));
  const { experiment, model, seed } = config;
  return `${experiment}-${model}-${seed}-${digest.slice(0, 8)}`;
}

/** Arguments of `deno task train` that make a run. */
export function trainArguments({ config, folder }: Pick<TableRun, "config" | "folder">): string[] {
  const { experiment, ...settings } = config;
  const options = Object.entries(settings).filter(([, value]) => value !== false)
    .flatMap(([name, value]) => value === true ? [flag(name)] : [flag(name), String(value)]);
  return [experiment, ...options, "--run", folder.path];
}
