/** The table of equations is complete. links_test.ts checks that its links lead to code. */
import assert from "node:assert/strict";

const page = new URL("../docs/research/equations.md", import.meta.url);

/** The last equation number of each paper, by section of the page. */
const papers: Readonly<Record<string, number>> = {
  "Neural CDE": 13,
  "Continuous-time fast weight programmers": 38,
  "WARP": 8,
};

const text = await Deno.readTextFile(page);
const sections = new Map(
  text.split(/^## /m).slice(1).map((section): [string, string] => {
    const end = section.indexOf("\n");
    return [section.slice(0, end).trim(), section.slice(end)];
  }),
);

/** The rows of a section's first table, by column. */
function rowsOf(section: string): string[][] {
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
}

for (const [paper, last] of Object.entries(papers)) {
  Deno.test(`every equation of ${paper} is in the table once, in order`, () => {
    const numbers = rowsOf(sections.get(paper) ?? "").map(([number]) => Number(number));
    assert.deepEqual(numbers, Array.from({ length: last }, (_, i) => i + 1));
  });
}

Deno.test("every equation links to code or states why it is not implemented", () => {
  for (const [paper, section] of sections) {
    for (const [number, , where] of rowsOf(section)) {
      assert.match(where, /\[`\w+`\]\([^)]+\.ts\)|^none: ./, `${paper}, equation ${number}`);
    }
  }
});
