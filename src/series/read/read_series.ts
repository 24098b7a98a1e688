/** Reads series from any source: a table, a problem of the UEA archive, or a set in memory. */
import { readBytes } from "../../data/format.ts";
import type { SeriesSet } from "../../data/series.ts";
import {
  readOptionNames,
  type ReadOptions,
  tableOptionNames,
  type TableOptions,
} from "../../data/table/options.ts";
import { hasTables, isTableName, readTable } from "../../data/table/read_table.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { DataError, OptionError, WeftError } from "../../device/errors.ts";
import { exists, namesIn, pathKind } from "../../files/disk.ts";
import { checkSet, isSeriesSet, type SeriesSource, type TargetKind } from "../record/series_source.ts";

/** Options of {@linkcode readSeries}. */
export interface SeriesReadOptions extends TableOptions, ReadOptions {
  /** Kind of the targets. */
  targets: TargetKind;
  /** Name of the problem of the UEA archive, if the path contains several. */
  problem?: string;
}

const optionNames = namesOf<SeriesReadOptions>()(tableOptionNames, "targets", readOptionNames, "problem?");

/** Whether a path is a table or a folder of tables. Otherwise it should be a problem of the UEA archive. */
async function isTable(path: string, problem?: string): Promise<boolean> {
  if (isTableName(path)) return true;
  const kind = await pathKind(path);
  if (problem !== undefined || !kind || path.toLowerCase().endsWith(".zip")) return false;
  return kind === "file" ? !path.toLowerCase().endsWith(".ts") : await hasTables(path);
}

/**
 * Why a path that is not a table cannot be a problem of the archive, for a message. Undefined if it may be
 * such a problem.
 */
async function whyNoSeries(path: string): Promise<string | undefined> {
  if (!await exists(path)) return "no such file or folder";
  if (await pathKind(path) !== "folder") return undefined;
  const names = await namesIn(path);
  return names.some((name) => name.endsWith(".ts"))
    ? undefined
    : "a folder without tables and without .ts files";
}

/**
 * Reads a table, or a problem of the UEA archive (with its name if the path contains several). The set has
 * the path as its name. A set in memory is returned.
 *
 * @param source Path of a table, of a folder of tables, of a `.ts` file, or of a zip file or folder of `.ts` files; or a set.
 * @throws {WeftError} If the path has neither, or if table options are given for a problem of the archive.
 */
export async function readSeries(
  source: SeriesSource,
  options: SeriesReadOptions,
): Promise<SeriesSet> {
  checkOptions("readSeries", options, optionNames);
  const { problem, ...ofTable } = options;
  if (isSeriesSet(source)) {
    checkSet(source, options.targets);
    return source;
  }
  if (typeof source !== "string" || await isTable(source, problem)) return await readTable(source, ofTable);
  const lacking = problem === undefined ? await whyNoSeries(source) : undefined;
  if (lacking) {
    const expected =
      "a table (.csv, .tsv, .txt, .jsonl, .ndjson, .parquet, also as .gz, or SQLite), a folder of tables, " +
      "a .ts file, or a zip file or folder of .ts files";
    throw new WeftError("unreadable-file", `${source}: ${lacking}; expected ${expected}`, { expected });
  }
  const set = source.toLowerCase().endsWith(".ts")
    ? (await import("../../data/ts_format.ts")).parseTs(await readBytes(source, "a .ts file"), source)
    : await (await import("../../data/uea.ts")).readUea(source, problem, options.maxUnpacked);
  const unread = Object.keys(ofTable).filter((name) =>
    name !== "maxUnpacked" && Object.hasOwn(tableOptionNames, name)
  );
  requireTargets(source, set, options.targets);
  if (unread.length === 0) return { ...set, name: source };
  throw new OptionError(
    "unusable-option",
    (write) =>
      `${source}: ${
        unread.map(write).join(", ")
      }: options of tables, and this is a problem of the UEA archive; leave them out`,
    { option: unread[0] },
  );
}

/** @throws {DataError} If a `.ts` file has classes and numbers are needed, or numbers and classes are needed. */
function requireTargets(source: string, { targets }: SeriesSet, kind: TargetKind): void {
  const isRegression = targets !== undefined;
  if (!(isRegression ? kind === "classes" : kind === "numbers")) return;
  const [actual, expected] = isRegression ? ["numbers", "classes"] : ["classes", "numbers"];
  throw new DataError(
    "conflicting-columns",
    `${source}: a .ts file with ${actual} to predict; expected ${expected}`,
    {
      option: "task",
      expected,
      fixes: [(write) => `use ${write("task")} ${isRegression ? "regress" : "classify"}`],
    },
  );
}
