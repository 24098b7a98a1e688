/** The documentation site: its pages are made of the files that the contents reach. */
import assert from "node:assert/strict";
import { contentsPage, readGroups } from "../../tasks/docs/contents.ts";
import { declarationAt } from "../../tasks/docs/declaration.ts";
import { linksOf, replaceLinks } from "../../tasks/docs/markdown.ts";
import { notebookPage } from "../../tasks/docs/notebook.ts";
import { referencePages } from "../../tasks/docs/reference.ts";
import { stage } from "../../tasks/docs/stage.ts";

/** A repository of texts by path. */
const repositoryOf = (files: Record<string, string>) => ({
  read: (path: string) =>
    path in files ? Promise.resolve(files[path]) : Promise.reject(new Error(`no file ${path}`)),
  list: (folder: string) =>
    Promise.resolve(
      Object.keys(files).filter((path) => path.startsWith(`${folder}/`)).map((path) =>
        path.slice(folder.length + 1)
      ),
    ),
});

Deno.test("relative links are replaced, links in code and links to other hosts are not", () => {
  const text =
    "[a](x.md#b) [`c`](y.ts) ![d](z.svg) `[e](f.md)` [g](https://h.org) [i](#j)\n\n```md\n[k](l.md)\n```\n";
  assert.deepEqual(linksOf(text).map(({ target }) => target), ["x.md", "y.ts", "z.svg"]);
  assert.equal(
    replaceLinks(text, ({ target, anchor }) => `/${target}${anchor}`),
    text.replace("x.md", "/x.md").replace("y.ts", "/y.ts").replace("z.svg", "/z.svg"),
  );
});

Deno.test("the site has every file that its pages reach, and links lead to the places of the files", async () => {
  const { texts, copies } = await stage(repositoryOf({
    "docs/index.md": "# First\n",
    "docs/README.md":
      "# Weft\n\n[guide](guides/a.md#part) [contribute](../CONTRIBUTING.md) ![p](figures/p.svg)\n",
    "docs/guides/a.md":
      "# A\n\n[`f`](../../src/f.ts) [src](../../src) [data](../tables/t.csv) [README.md](../README.md)\n",
    "CONTRIBUTING.md": "# Contributing\n",
    "docs/guides/unlinked.md": "# Unlinked\n",
    "src/f.ts": "export const f = 1;\n",
    "src/g.ts": "export const g = 1;\n",
  }));
  assert.deepEqual([...texts.keys()].sort(), [
    "CONTRIBUTING.md",
    "contents.md",
    "guides/a.md",
    "index.md",
    "source/src/f.ts.md",
    "source/src/index.md",
  ]);
  assert.deepEqual([...copies].sort(), [
    ["figures/p.svg", "docs/figures/p.svg"],
    ["public/tables/t.csv", "docs/tables/t.csv"],
  ]);
  assert.match(texts.get("contents.md")!, /\[guide\]\(\/guides\/a\.html#part\).*!\[p\]\(figures\/p\.svg\)/);
  assert.match(
    texts.get("guides/a.md")!,
    /\(\/source\/src\/f\.ts\.html\).*\(\/source\/src\/index\.html\).*\(\/tables\/t\.csv\).*\[Weft\]\(\/contents\.html\)/,
  );
  assert.match(
    texts.get("source/src/index.md")!,
    /^- \[`f\.ts`\]\(\/source\/src\/f\.ts\.html\)\n- `g\.ts`$/m,
  );
  assert.match(texts.get("source/src/f.ts.md")!, /^# src\/f\.ts\n\n````ts\nexport const f = 1;\n````$/m);
});

Deno.test("a link to the source of the playground becomes a link to its page, which the search finds", async () => {
  const files = { "docs/index.md": "[play](../web)\n", "docs/README.md": "", "web/main.ts": "" };
  const { texts } = await stage(repositoryOf(files));
  assert.equal(texts.get("index.md"), "[play](/playground/index.html)\n");
  assert.match(texts.get("playground/index.md")!, /^# Playground: train in a browser\n/);
});

Deno.test("each file that pages of this repository link is a page, code, a picture or a table", async () => {
  const { copies } = await stage({
    read: (path) => Deno.readTextFile(path),
    list: async (folder) => (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort(),
  });
  const others = [...copies.values()].filter((path) => !/\.(svg|png|csv|jsonl?)$/.test(path));
  assert.deepEqual(others, [], "the site takes a link to another kind of file for a missing page");
});

Deno.test("a link to a missing file stops the build", async () => {
  await assert.rejects(
    stage(repositoryOf({ "docs/index.md": "", "docs/README.md": "[a](missing.md)" })),
    /no file docs\/missing\.md/,
  );
});

Deno.test("the contents list every page of docs/ once, in the group of its folder", async () => {
  const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
  const groups = readGroups(await read(contentsPage));
  for (const { title, pages } of groups) {
    const folder = `docs/${title.toLowerCase()}`;
    const listed = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/")).sort();
    const files = await Array.fromAsync(Deno.readDir(new URL(`../../${folder}`, import.meta.url)));
    assert.deepEqual(listed, files.map(({ name }) => `${folder}/${name}`).sort());
  }
});

Deno.test("a page of a notebook has its cells, outputs and pictures", () => {
  const cells = [
    { cell_type: "markdown", source: ["# Title\n", "text"] },
    { cell_type: "code", source: "f();", outputs: [{ text: ["1\n"] }, { text: "2\n" }] },
    {
      cell_type: "code",
      source: "plot()",
      outputs: [{ data: { "image/svg+xml": "<svg/>", "text/plain": "a plot" } }],
    },
  ];
  const { text, pictures } = notebookPage("examples/n.ipynb", JSON.stringify({ cells }));
  assert.equal(
    text,
    "# Title\ntext\n\n```ts\nf();\n```\n\n```text\n1\n2\n```\n\n```ts\nplot()\n```\n\n![a plot](n_1.svg)\n",
  );
  assert.deepEqual([...pictures], [["n_1.svg", "<svg/>"]]);
});

const source = `/** F. */
export async function f(
  x: { a: number },
): Promise<void> {
  await x;
}
/** G. */
export function g(a: "{"): void;
/** T. */
export type T = {
  /** Member. */
  a: number;
};
/** C. */
export const c: Map<string, number> = new Map();
/** I. */
export interface I extends Iterable<number> {}

/** K. */
export class K {
  #secret = 1;

  /** Size. */
  get size(): number {
    return this.#secret;
  }

  /** Hidden. @internal */
  hidden(): void {
    return;
  }
}
`;

for (
  const [name, expected] of Object.entries({
    "async function f": "function f(\n  x: { a: number },\n): Promise<void>",
    "function g": 'function g(a: "{"): void',
    "type T": "type T = {\n  /** Member. */\n  a: number;\n};",
    "const c": "const c: Map<string, number>",
    "interface I": "interface I extends Iterable<number> {}",
    "class K": "class K {\n  /** Size. */\n  get size(): number;\n\n}",
  })
) {
  Deno.test(`the signature of "${name}" has no bodies, values and private members`, () => {
    const line = source.split("\n").findIndex((line) => line.startsWith(`export ${name}`));
    assert.equal(declarationAt(source, line), expected);
  });
}

Deno.test("the reference has the exports of a folder, with their modules and links", async () => {
  const place = (file: string, line: number) => ({ filename: `file:///w/${file}`, line });
  const described = {
    nodes: {
      "file:///w/mod.ts": {
        symbols: [
          {
            name: "g",
            declarations: [
              { kind: "reference", location: place("mod.ts", 9), def: { target: place("src/nn/g.ts", 7) } },
            ],
          },
        ],
      },
      "file:///w/src/nn/mod.ts": {
        module_doc: { doc: "Layers." },
        symbols: [
          {
            name: "g",
            declarations: [{
              kind: "function",
              location: place("src/nn/g.ts", 7),
              jsDoc: {
                doc: "Calls {@linkcode g} for a < b.\n\n    y <= {@linkcode x}\n\nEnd.",
                tags: [{ kind: "param", name: "a", doc: "`<x>`." }],
              },
            }],
          },
        ],
      },
    },
  };
  const modules = new Map([["mod.ts", "@w/w"], ["src/nn/mod.ts", "@w/w/nn"]]);
  const pages = await referencePages(described, modules, () => Promise.resolve(source));
  assert.deepEqual([...pages.keys()], ["nn", "index"]);
  assert.equal(
    pages.get("nn"),
    "# nn\n\nLayers.\n\n## g\n\nFrom `@w/w`, `@w/w/nn`\n\n" +
      '```ts\nfunction g(a: "{"): void\n```\n\n' +
      "Calls [`g`](/reference/nn.html#g) for a &lt; b.\n\n    y <= {@linkcode x}\n\nEnd.\n\n**Parameters**\n\n- `a`: `<x>`.\n",
  );
});

Deno.test("the reference has the functions of a folder before its types", async () => {
  const location = { filename: "file:///w/src/nn/g.ts", line: 7 };
  const symbol = (name: string, kind: string) => ({ name, declarations: [{ kind, location }] });
  const symbols = [
    symbol("Axis", "interface"),
    symbol("B", "class"),
    symbol("a", "function"),
    symbol("Z", "typeAlias"),
  ];
  const described = {
    nodes: { "file:///w/mod.ts": { symbols: [] }, "file:///w/src/nn/mod.ts": { symbols } },
  };
  const pages = await referencePages(
    described,
    new Map([["src/nn/mod.ts", "@w/w/nn"]]),
    () => Promise.resolve(source),
  );
  assert.deepEqual(Array.from(pages.get("nn")!.matchAll(/^## (.*)/gm), ([, name]) => name), [
    "a",
    "B",
    "Axis",
    "Z",
  ]);
});
