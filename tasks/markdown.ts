/** Tables in Markdown. */
import { largest } from "../src/device/extremes.ts";

/**
 * A table in the form that `deno fmt` gives it.
 *
 * @param rows The head and the rows below it.
 * @param texts Columns that hold words and stand on the left; the others hold numbers and stand on the right.
 */
export function markdownTable(rows: readonly (readonly string[])[], texts: readonly number[] = [0]): string {
  const widths = rows[0].map((_, column) => Math.max(2, largest(rows.map((cells) => cells[column].length))));
  const [head, ...body] = rows.map((cells) =>
    cells.map((cell, i) => texts.includes(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))
  );
  const line = widths.map((width, i) => texts.includes(i) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`);
  return [head, line, ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
