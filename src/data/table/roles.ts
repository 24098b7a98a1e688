/** Roles of the columns of a table. */
import type { ErrorText } from "../../device/errors.ts";
import { DataFormatError, type FormatErrorDetails, listed, quoted, requireDistinct } from "../format.ts";
import type { ReadOptions, TableOptions } from "./options.ts";

/** Role of a column. */
export type Role =
  | "series"
  | "time"
  | "label"
  | "target"
  | "group"
  | "channel"
  | "covariate"
  | "known"
  | "static"
  | "ignored"
  | "unnamed";

/** Maximum number of columns of a table. */
const maxColumns = 100_000;

/**
 * Whether a column is unnamed. pandas names such columns `Unnamed: 0` when it reads them, and writes these
 * names.
 */
export function isUnnamed(name: string): boolean {
  return name === "" || /^Unnamed: \d+$/.test(name);
}

/**
 * The role of each column, in the order of the columns.
 *
 * @throws {DataFormatError} If a column of the options is missing, or two columns have the same name.
 */
export function rolesOf(
  names: readonly string[],
  file: string,
  options: TableOptions & ReadOptions,
): Role[] {
  const fail = (text: ErrorText, details: FormatErrorDetails): never => {
    throw new DataFormatError(file, 1, text, details);
  };
  if (names.length > maxColumns) {
    fail(`${names.length} columns, more than ${maxColumns}: is this a table?`, { code: "too-large" });
  }
  requireDistinct(names.filter((name) => !isUnnamed(name)), file);
  const { series = "series", time = "time", group, wide = false, targets = "classes" } = options;
  const roles = new Map<string, Role>();
  const long = (["series", "group", "target", "static", "known", "category"] as const).filter((option) =>
    options[option]
  );
  if (wide && long.length > 0) {
    fail(
      (write) =>
        `${long.map(write).join(", ")}: not for tables with ${write("wide")}, where each row is a time and ` +
        "each column a series",
      { code: "conflicting-options", option: "wide" },
    );
  }
  if (wide && options.layout === "rows") {
    fail(
      (write) =>
        `${write("wide")} and ${write("layout")} rows exclude each other: a row is a time, or a whole series`,
      { code: "conflicting-options", option: "layout" },
    );
  }
  const give = (name: string, role: Role, option: string, isNeeded: boolean) => {
    if (!names.includes(name)) return isNeeded ? absent(fail, name, option, names) : undefined;
    const earlier = roles.get(name);
    if (earlier) {
      fail(`the column ${quoted(name)} cannot be both ${earlier} and ${role}`, {
        code: "conflicting-options",
        option,
        column: name,
        fixes: ["name it in one option"],
      });
    }
    roles.set(name, role);
  };
  // The end of the table shows whether these columns exist: later JSON rows may add columns.
  for (const name of options.ignore ?? []) give(name, "ignored", "ignore", false);
  give(time, "time", "time", true);
  if (!wide) give(series, "series", "series", options.series !== undefined);
  if (!wide && !roles.has(series)) {
    const similar = names.find((name) => name.toLowerCase() === series);
    if (similar) {
      fail(`no column ${quoted(series)}`, {
        code: "missing-column",
        option: "series",
        column: series,
        fixes: [
          (write) =>
            `if column ${quoted(similar)} has the names of the series, set ${write("series")} to ${
              quoted(similar)
            }`,
        ],
      });
    }
  }
  if (group !== undefined) give(group, "group", "group", targets !== "none");
  for (const name of wide ? [] : options.target ?? ["label"]) {
    const isExplicit = options.target !== undefined;
    if (targets === "classes") give(name, "label", "target", isExplicit);
    else if (targets === "numbers") give(name, "target", "target", true);
    else if (targets === "none" || !isExplicit) give(name, "ignored", "target", false);
    else give(name, "channel", "target", true);
  }
  for (const name of options.static ?? []) give(name, "static", "static", true);
  for (const name of options.known ?? []) give(name, "known", "known", true);
  const labels = [...roles].filter(([, role]) => role === "label").map(([name]) => name);
  if (labels.length > 1) {
    fail((write) => `classes come from one column, and ${write("target")} names ${listed(labels, 12)}`, {
      code: "invalid-option",
      option: "target",
      expected: "one column",
    });
  }
  for (const name of options.category ?? []) {
    if (!names.includes(name)) absent(fail, name, "category", names);
  }
  const channel = targets === "channels" && options.target ? "covariate" : "channel";
  const all = names.map((name) =>
    isUnnamed(name) && !roles.has(name) ? "unnamed" : roles.get(name) ?? channel
  );
  if (!all.some((role) => role === "channel" || role === "known")) {
    fail(`no channel: expected a column in addition to ${[...roles.keys()].join(", ")}`, {
      code: "missing-column",
    });
  }
  return all;
}

/** A table without times may have a series in each row. */
const seriesPerRow: ErrorText = (write) => `if each row is a series, set ${write("layout")} rows`;

/** Rejects a table without a column. @param option Option that names the column. */
export function absent(
  fail: (text: ErrorText, details: FormatErrorDetails) => never,
  name: string,
  option: string,
  names: readonly string[],
): never {
  const similar = names.find((other) => other.toLowerCase() === name.toLowerCase());
  const others = `${names.slice(0, 12).join(", ")}${names.length > 12 ? ", ..." : ""}`;
  return fail(`no column ${quoted(name)} among ${others}`, {
    code: "missing-column",
    option,
    column: name,
    fixes: [
      (write) => `name another with ${write(option)}${similar ? `, as ${quoted(similar)}` : ""}`,
      ...(option === "time" && !similar ? [seriesPerRow] : []),
    ],
  });
}
