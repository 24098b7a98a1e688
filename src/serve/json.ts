/** JSON that a client sends. */
import type { TableOptions } from "../data/table/options.ts";
import { isRecord, parseJson } from "../files/json.ts";
import { tableNotations } from "./notations.ts";
import { RequestError } from "./problem.ts";

/**
 * The value of a JSON text.
 *
 * @param depth How many objects and arrays may be inside one another.
 * @throws {RequestError} If it is none, or too deep.
 */
export function jsonOf(text: string, depth: number): unknown {
  // Before it is parsed, since each bracket becomes an object.
  if (depthOf(text, depth) > depth) throw new RequestError(400, `JSON of more than ${depth} levels`);
  const value = parseJson(text);
  if (value === undefined) throw new RequestError(400, "the text is no JSON");
  return value;
}

/** Depth of objects and arrays inside one another, counted up to one above the limit. */
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

/** Names of the columns that a run's table calls its series and times by. */
export interface ColumnNames {
  /** Column that names the series. */
  readonly series: string;
  /** Column of the times. */
  readonly time: string;
}

/**
 * The rows of a table, from series as JSON has them: `{series: [{name, times: [...], values: {column: [...]}}]}`, where a
 * column that does not change may have its one value instead of an array.
 *
 * @throws {RequestError} If it is something else.
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
  const place = `series[${i}]`;
  const fail = (message: string): never => {
    throw new RequestError(400, `${place}: ${message}`);
  };
  if (!isRecord(one)) return fail("expected an object with name, times and values");
  const { name, times, values, ...others } = one;
  const other = Object.keys(others)[0];
  if (other !== undefined) fail(`an unknown member "${other.slice(0, 60)}"; expected name, times and values`);
  if (typeof name !== "string" || name.trim() === "") {
    return fail("expected a name, a text that is not empty");
  }
  if (!Array.isArray(times) || times.length === 0) return fail("expected times, an array that is not empty");
  if (!isRecord(values)) return fail("expected values, an object with an array for each column");
  const columns = Object.entries(values);
  for (const [column, own] of columns) {
    if (column === names.series || column === names.time) {
      fail(`"${column}" among the values, which ${column === names.time ? "times" : "name"} gives`);
    }
    if (Array.isArray(own) && own.length !== times.length) {
      fail(
        `${own.length} values of "${
          column.slice(0, 60)
        }", expected one for each of ${times.length} times, or null`,
      );
    }
  }
  for (const [t, time] of times.entries()) {
    yield Object.fromEntries([
      [names.series, name],
      [names.time, time],
      ...columns.map(([column, own]) => [column, Array.isArray(own) ? own[t] : own]),
    ]);
  }
}

/** Options of a table in an address, as `?delimiter=;`. @throws {RequestError} 400 for anything else. */
export function notationOf(parameters: URLSearchParams): TableOptions {
  for (const [name, value] of parameters) {
    const choices: readonly unknown[] = Object.hasOwn(tableNotations, name)
      ? tableNotations[name as keyof typeof tableNotations]
      : [];
    if (choices.includes(value)) continue;
    throw new RequestError(
      400,
      choices.length > 0
        ? `expected for ${name} one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`
        : `an unknown parameter; there is ${Object.keys(tableNotations).join(", ")}`,
    );
  }
  return Object.fromEntries(parameters);
}
