/**
 * Tests of tables with faults. Each table is read as documented in docs/start/own_data.md, or rejected with its
 * position and a remedy.
 */
import assert from "node:assert/strict";
import type { SeriesSet } from "../../src/data/series.ts";
import type { ReadOptions, TableOptions } from "../../src/data/table/options.ts";
import { readTable } from "../../src/data/table/read_table.ts";
import { withFolder } from "../tasks/command_line.ts";

/** The result of reading in one line: names with times and values, then notices and ignored columns. */
export function shown({ series, channels, classes, notices = [], ignored = [] }: SeriesSet): string {
  const all = series.map(({ name, times, values, label, targets, group }) =>
    [name, ...times, "|", ...values, label < 0 ? "" : classes[label], ...targets ?? [], group ?? ""].join(" ")
      .trim()
  );
  return [`${channels}`, ...all, ...notices, ...ignored].join("; ");
}

export const head = "series,time,x,label\n";
export const good = `${head}a,0,1,u\na,1,2,u\nb,0,3,v\n`;
/** The text of {@linkcode good} after reading. */
export const read = "x; a 0 1 | 1 2 u; b 0 | 3 v";

/** A table, and the text after reading it or the message of its error. */
type Case = readonly [
  name: string,
  content: string | Uint8Array,
  expected: string | RegExp,
  options?: TableOptions & ReadOptions,
];

/** A test for each table. */
export function testTables(cases: readonly Case[]): void {
  for (const [name, content, expected, options] of cases) {
    Deno.test(
      `a table with ${name} is read as documented or rejected with the position and a fix`,
      withFolder(async (folder) => {
        const path = `${folder}/table.csv`;
        await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
        const found = await readTable(path, options).then(shown, (error: Error) => {
          assert.ok(error.constructor !== TypeError && !error.message.includes("\n"), error.stack);
          return error.message;
        });
        if (typeof expected === "string") assert.equal(found, expected);
        else assert.match(found, expected);
      }),
    );
  }
}
