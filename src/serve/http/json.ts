/** Parses JSON from clients. */
import type { TableOptions } from "../../data/table/options.ts";
import { isRecord, parseFiniteJson } from "../../files/json.ts";
import type { ColumnNames } from "../../series/run/observation_stream.ts";
import { tableNotations } from "./notations.ts";
import { RequestError } from "./problem.ts";

/**
 * Parses a JSON text.
 *
 * @param depth Maximum nesting depth of objects and arrays.
 * @throws {RequestError} If the text is not JSON, or nested too deeply.
 */
export function jsonOf(text: string, depth: number): unknown {
  // Check the depth before parsing, since parsing allocates an object for each bracket.
  if (depthOf(text, depth) > depth) throw new RequestError(400, `JSON of more than ${depth} levels`);
  const value = parseFiniteJson(text);
  if (value === undefined) throw new RequestError(400, "invalid JSON");
  return value;
}

/** Nesting depth of objects and arrays. Stops counting at `limit + 1`. */
function depthOf(text: string, limit: number): number {
  let [depth, deepest, isText] = [0, 0, false];
  for (let i = 0; i < text.length && deepest <= limit; i++) {
    const letter = text[i];
    if (isText) {
      if (letter === "\\") i++;
      else if (letter === '"') isText = false;
    } else if (letter === '"') isText = true;
    else if (letter === "{" || letter === "[") deepest = Math.max(deepest, ++depth);
    else if (letter === "}" || letter === "]") depth--;
  }
  return deepest;
}

/**
 * Converts series in JSON to the rows of a table. The JSON is
 * `{series: [{name, times: [...], values: {column: [...]}}]}`. A constant column may have a single value
 * instead of an array.
 *
 * @throws {RequestError} If the value has another form.
 */
export function* rowsOf(value: unknown, names: ColumnNames): Generator<Record<string, unknown>> {
  if (!isRecord(value) || !Array.isArray(value.series)) {
    throw new RequestError(
      400,
      'expected {"series": [{"name": ..., "times": [...], "values": {"<column>": [...]}}]}',
    );
  }
  for (const [i, one] of value.series.entries()) yield* seriesRows(one, i, names);
}

function* seriesRows(one: unknown, i: number, names: ColumnNames): Generator<Record<string, unknown>> {
  /** @param path Keys that lead from the series to the wrong member. */
  const fail = (message: string, ...path: string[]): never => {
    const pointer = ["", "series", `${i}`, ...path].map(escaped).join("/");
    throw new RequestError(400, `series[${i}]: ${message}`, {}, { code: "invalid-series", pointer });
  };
  if (!isRecord(one)) return fail("expected an object with name, times and values");
  const { name, times, values, ...others } = one;
  const other = Object.keys(others)[0];
  if (other !== undefined) {
    fail(`an unknown member "${other.slice(0, 60)}"; expected name, times and values`, other);
  }
  if (typeof name !== "string" || name.trim() === "") {
    return fail("expected a name, a text that is not empty", "name");
  }
  if (!Array.isArray(times) || times.length === 0) {
    return fail("expected times, an array that is not empty", "times");
  }
  if (!isRecord(values)) return fail("expected values, an object with an array for each column", "values");
  const columns = Object.entries(values);
  for (const [column, columnValues] of columns) {
    if (column === names.series || column === names.time) {
      fail(
        `values contain "${column}"; expected it only in ${column === names.time ? "times" : "name"}`,
        "values",
        column,
      );
    }
    if (Array.isArray(columnValues) && columnValues.length !== times.length) {
      fail(
        `${columnValues.length} values of "${
          column.slice(0, 60)
        }", expected one for each of ${times.length} times, or null`,
        "values",
        column,
      );
    }
  }
  for (const [t, time] of times.entries()) {
    yield Object.fromEntries([
      [names.series, name],
      [names.time, time],
      ...columns.map((
        [column, columnValues],
      ) => [column, Array.isArray(columnValues) ? columnValues[t] : columnValues]),
    ]);
  }
}

/** A key as a token of a JSON pointer (RFC 6901). */
function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * Table options in the query of a URL, such as `?delimiter=;`.
 *
 * @throws {RequestError} 400 for any other parameter or value.
 */
export function notationOf(parameters: URLSearchParams): TableOptions {
  for (const [name, value] of parameters) {
    const choices: readonly unknown[] = Object.hasOwn(tableNotations, name)
      ? tableNotations[name as keyof typeof tableNotations]
      : [];
    if (choices.includes(value)) continue;
    if (choices.length === 0) {
      const expected = Object.keys(tableNotations).join(", ");
      throw new RequestError(400, `unknown parameter; expected ${expected}`, {}, {
        ...{ code: "unknown-option", option: name, expected },
      });
    }
    const expected = `one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
    throw new RequestError(400, `expected for ${name} ${expected}`, {}, {
      ...{ code: "invalid-option", option: name, expected },
    });
  }
  return Object.fromEntries(parameters);
}
