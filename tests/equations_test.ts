/** The table of equations names code that is there. */
import assert from "node:assert/strict";

const page = new URL("../docs/equations.md", import.meta.url);

/** The last number of each paper's equations, by the section of the page. */
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

/** The rows of a section's first table, by columns. */
function rowsOf(section: string): string[][] {
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
}

const definition = (name: string) =>
  new RegExp(`^\\s*(export )?(async )?(function|const|class|interface|type|get) ${name}\\b`, "m");

for (const [paper, last] of Object.entries(papers)) {
  Deno.test(`every equation of ${paper} is in the table once, in order`, () => {
    const numbers = rowsOf(sections.get(paper) ?? "").map(([number]) => Number(number));
    assert.deepEqual(numbers, Array.from({ length: last }, (_, i) => i + 1));
  });
}

Deno.test("every equation names code that is there, or the reason why there is none", async () => {
  for (const [paper, section] of sections) {
    for (const [number, , where] of rowsOf(section)) {
      const links = Array.from(where.matchAll(/\[`(\w+)`\]\(([^)]+)\)/g));
      if (links.length === 0) {
        assert.match(where, /^none: ./, `${paper}, equation ${number}: neither a link nor "none: why"`);
      }
      for (const [, name, path] of links) {
        const source = await Deno.readTextFile(new URL(path, page));
        assert.match(source, definition(name), `${paper}, equation ${number}: ${path} defines no ${name}`);
      }
    }
  }
});

Deno.test("what else the page links to defines the names that it gives", async () => {
  for (const [, name, path] of text.matchAll(/\[`(\w+)`\]\(([^)]+)\)/g)) {
    assert.match(
      await Deno.readTextFile(new URL(path, page)),
      definition(name),
      `${path} defines no ${name}`,
    );
  }
});
