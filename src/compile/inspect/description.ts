/** Descriptions of loops, as texts and as tables of notebooks. */
import { type OutputTable, tableBundle } from "../../charts/display.ts";
import type { MimeBundle } from "../../charts/display_symbol.ts";

/** A description of a loop. */
export interface Description {
  /** First line. */
  readonly title?: string;
  /** Lists with titles, and lines without. */
  readonly parts: readonly { readonly title?: string; readonly lines: readonly string[] }[];
}

/** A description as a text. */
export function textOf({ title, parts }: Description): string {
  const lines = parts.flatMap(({ title, lines }) =>
    title === undefined
      ? lines
      : [`${title}:`, ...lines.length > 0 ? lines.map((line) => `  ${line}`) : ["  nothing"]]
  );
  return [...title === undefined ? [] : [title, ""], ...lines].join("\n");
}

/** Descriptions as tables: a table for each list, with a row for each line. */
export function displayDescriptions(text: string, descriptions: readonly Description[]): MimeBundle {
  return tableBundle(
    text,
    ...descriptions.flatMap(({ title, parts }): OutputTable[] => [
      ...title === undefined ? [] : [{ title, head: [], rows: [] }],
      ...parts.map(({ title, lines }) => ({
        title,
        head: [],
        rows: lines.filter((line) => line !== "").map(cellsOf),
        texts: [1],
      })),
    ]),
  );
}

/** The name of a value, and the rest of the line. */
function cellsOf(line: string): string[] {
  const [, name, sign, rest] = line.match(/^(.+?)(:| \+?=) (.*)$/) ?? [];
  if (name === undefined) return [line];
  return [name, sign === " +=" ? `+= ${rest}` : rest];
}
