/** Tables of papers as data, and the runs that produce their values. */
import { kindNamed } from "@weft/weft/series";
import { defaultsOf, flag, hintFor, type RunConfig, type RunFolder, runFolder } from "@weft/weft/train";
import { basename } from "node:path";
import type { ForecastSettings, PaperSeriesSettings } from "../experiments/options.ts";
import type { ImageSettings } from "../experiments/images.ts";
import { experimentNamed } from "../experiments/registry.ts";

/** The names of the scales. */
export const scales = ["paper", "small"] as const;

/** The paper's sizes, or sizes that two cores train in minutes. */
export type Scale = typeof scales[number];

/** A published number in the unit of its column: a mean and, if published, the standard deviation. */
export type Published = readonly [mean: number, standardDeviation?: number];

/** Settings of a row, a column or a table that differ from the experiment's defaults. */
export type Chosen = Partial<Omit<PaperSeriesSettings & ForecastSettings & ImageSettings, "seed" | "data">>;

/**
 * A column: a problem and a metric. Columns with the same settings share runs. Settings of a column override
 * settings of the scale, and settings of a row override both.
 */
export interface TableColumn {
  /** Heading of the column, for example `30 % dropped`. */
  readonly title: string;
  /** Name of the experiment. */
  readonly experiment: string;
  /** Settings at both scales. */
  readonly settings?: Chosen;
  /** Settings at one scale. */
  readonly at?: Partial<Record<Scale, Chosen>>;
  /** Name of a test metric, or a metric of the run: `"seconds an epoch"` or `"peak memory"`, in bytes. */
  readonly measure: string;
  /** Factor from the metric to the column's unit: 100 for percent. */
  readonly factor: number;
  /** Digits after the decimal point. */
  readonly digits: number;
  /** Whether small or large values are better. */
  readonly better: "small" | "large";
}

/** The metric of a column with test accuracy in percent. */
export const accuracy = { measure: "accuracy", factor: 100, digits: 1, better: "large" } as const;

/** A row: a model. */
export interface TableRow {
  /** Name of the model in the paper. */
  readonly title: string;
  /** Name of the model for `--model`. */
  readonly model: string;
  /** Settings at both scales. */
  readonly settings?: Chosen;
  /** Settings at one scale. */
  readonly at?: Partial<Record<Scale, Chosen>>;
  /** The paper's settings in each column, if they differ between columns. */
  readonly paper?: readonly (Chosen | undefined)[];
  /**
   * The published value in each column: `undefined` if it is not published, null if the paper has no such
   * run. No value is published by default.
   */
  readonly published?: readonly (Published | undefined | null)[];
}

/**
 * Published values of a row, such as `"47.9±2.9 85.2 ? -"`: means, with standard deviations if they are
 * published. `?` is not published, and the paper has no run for `-`.
 */
export function published(values: string): NonNullable<TableRow["published"]> {
  return values.split(" ").map((value) => {
    if (value === "-") return null;
    return value === "?" ? undefined : value.split("±").map(Number) as unknown as Published;
  });
}

/** Settings and seeds of a scale. */
export interface TableScale {
  /** Settings of all runs. */
  readonly settings?: Chosen;
  /** Number of seeds, starting at 0. */
  readonly seeds: number;
  /** Differences from the paper, as a sentence for the reader of the table. */
  readonly differs: string;
  /** Approximate hours of all runs on two cores. */
  readonly hours: number;
}

/** A table of a paper. */
export interface PaperTable {
  /** For example `ncde-table-1`. */
  readonly name: string;
  /** Title, as text. */
  readonly title: string;
  /** Authors, year and number of the table. */
  readonly source: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /**
   * A figure of the paper: a line chart of the rows with the value of each column on the x axis and both
   * titles, or bars of the rows for each column with the title of the axis.
   */
  readonly chart?:
    | { readonly x: readonly number[]; readonly xLabel: string; readonly yLabel: string }
    | { readonly bars: string };
  /** The model that the significance tests compare with. */
  readonly reference: string;
  /** The scales of the table. Tables that no paper contains have no scale `"paper"`. */
  readonly scales: Readonly<Partial<Record<Scale, TableScale>>>;
}

/** A run that a table needs. */
export interface TableRun {
  readonly config: RunConfig;
  /** Named after the settings. */
  readonly folder: RunFolder;
  /** Row of the table. */
  readonly row: TableRow;
  /** Columns that the run provides. */
  readonly columns: readonly TableColumn[];
}

/** Options of {@linkcode tableRuns}. */
interface TableRunsOptions {
  readonly scale: Scale;
  /** Seeds of each row and column; by default the seeds of the scale. */
  readonly seeds?: readonly number[];
  /** Models; by default the models of all rows. */
  readonly models?: readonly string[];
  /** Experiments; by default the experiments of all columns. */
  readonly experiments?: readonly string[];
  readonly device?: RunConfig["device"];
  /** Folder of the data, `data` by default. */
  readonly data?: string;
  /** Parent folder of the runs' folders, `runs/tables` by default. */
  readonly out?: string;
}

/**
 * The runs of a table: first seed of all rows and columns, then the second seed, and so on.
 *
 * @throws {RangeError} If the table lacks the scale, a row of a model or a column of an experiment. The
 * message lists the known ones.
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
        if (row.published?.[i] === null || experiments && !experiments.includes(column.experiment)) continue;
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
  throw new RangeError(`${message} "${unknown}"; ${hintFor(unknown, [...new Set(known)])}`);
}

/**
 * Returns a scale of a table. @throws {RangeError} If the table lacks it. The message lists the known scales.
 */
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
    model: row.model,
    ...row.settings,
    ...row.at?.[scale],
    ...(scale === "paper" ? row.paper?.[table.columns.indexOf(column)] : {}),
  } as TableConfig;
  // Drop settings that the model does not read, and settings that a row resets to undefined.
  const kinds = experimentNamed(experiment).models();
  const { takes }: { takes: readonly string[] } = kindNamed(kinds, config.model);
  const ofModels: readonly string[] = Object.values(kinds).flatMap(({ takes }) => takes);
  const { hidden } = takes.includes("hidden") ? config : defaults;
  const isRead = (name: string) => name === "hidden" || takes.includes(name) || !ofModels.includes(name);
  return Object.fromEntries(
    Object.entries({ ...config, hidden }).filter(([name, value]) => value !== undefined && isRead(name)),
  ) as unknown as RunConfig;
}

/** Moves a path below `data/` to another folder. */
export function dataIn(folder: string, path: string): string {
  return path.replace(/^data/, () => folder.replace(/(?<=.)\/+$/, ""));
}

/** A name that depends only on the settings, not on the location of the data or the device. */
async function runName({ device: _, blas: __, ...config }: RunConfig): Promise<string> {
  const named = { ...config, ...(config.data === undefined ? {} : { data: basename(config.data) }) };
  const text = JSON.stringify(Object.entries(named).sort(([a], [b]) => a < b ? -1 : 1));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const { experiment, model, seed } = config;
  return `${experiment}-${model}-${seed}-${new Uint8Array(digest, 0, 4).toHex()}`;
}

/** The settings of a run that `deno task train` accepts: without the size of a model that has none. */
export function givenSettings({ experiment, ...settings }: RunConfig): Readonly<Record<string, unknown>> {
  const { hidden, ...others } = settings;
  const { takes } = kindNamed(experimentNamed(experiment).models(), others.model as string);
  return takes.includes("hidden") ? { ...others, hidden } : others;
}

/** Arguments of `deno task train` that produce a run. */
export function trainArguments({ config, folder }: Pick<TableRun, "config" | "folder">): string[] {
  const { experiment } = config;
  const options = Object.entries(givenSettings(config)).filter(([, value]) => value !== false)
    .flatMap(([name, value]) => value === true ? [flag(name)] : [flag(name), String(value)]);
  return [experiment, ...options, "--run", folder.path];
}
