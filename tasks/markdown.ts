/** Tables in Markdown. */

/**
 * A table in the form that `deno fmt` produces.
 *
 * @param rows The header and the rows below it.
 * @param texts Columns that hold text, aligned left. The others hold numbers, aligned right.
 */
export function markdownTable(rows: readonly (readonly string[])[], texts: readonly number[] = [0]): string {
  const widths = rows[0].map((_, column) => Math.max(2, ...rows.map((cells) => cells[column].length)));
  const [head, ...body] = rows.map((cells) =>
    cells.map((cell, i) => texts.includes(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))
  );
  const line = widths.map((width, i) => texts.includes(i) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`);
  return [head, line, ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
