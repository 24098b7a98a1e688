/** Statistics and tables of results, in Markdown. */
// Named here and not in deno.json, so that its hundred packages are fetched for these tables alone.
// deno-lint-ignore no-import-prefix
import incrmeanstdev from "npm:@stdlib/stats-incr-meanstdev@^0.2.3";

/** The mean and the (sample) standard deviation; of a single value that is zero. */
export function statistics(values: readonly number[]): { mean: number; deviation: number } {
  const accumulate = incrmeanstdev();
  values.forEach((value) => accumulate(value));
  const [mean, deviation] = Array.from(accumulate()!);
  return { mean, deviation };
}

/** "97.1 ± 0.4"; of a single value there is no spread. */
export function meanAndSpread(values: readonly number[]): string {
  const { mean, deviation } = statistics(values);
  return values.length > 1 ? `${mean.toFixed(1)} ± ${deviation.toFixed(1)}` : mean.toFixed(1);
}

/** A table: its head and rows, numbers to the right, in the form that `deno fmt` gives it. */
export function markdownTable(rows: readonly string[][]): string {
  const widths = rows[0].map((_, column) => Math.max(2, ...rows.map((cells) => cells[column].length)));
  const [head, ...body] = rows.map((cells) =>
    cells.map((cell, i) => i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))
  );
  const line = widths.map((width, i) => i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`);
  return [head, line, ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Puts text between two lines of comment of a page, in place of what was there. @throws {Error} Without them. */
export function replaceSection(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no lines ${begin} and ${end} to write between`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
