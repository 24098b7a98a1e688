/** Links in the documentation lead to existing files, and linked names are defined in those files. */
import assert from "node:assert/strict";
import { slugify } from "../tasks/docs/slugify.js";
import { documentationPages } from "./pages/blocks.ts";

const root = new URL("..", import.meta.url);

async function pages(): Promise<URL[]> {
  const found = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/results/README.md",
    "tests/fixtures/README.md",
  ];
  return [...found, ...await documentationPages()].map((path) => new URL(path, root));
}

const definition = (name: string) =>
  new RegExp(`^\\s*(export )?(async )?(function\\*?|const|class|interface|type|get) ${name}\\b`, "m");

for (const page of await pages()) {
  Deno.test(`links of ${page.pathname.slice(root.pathname.length)} lead to existing files and names`, async () => {
    const text = await Deno.readTextFile(page);
    for (const [, label, target] of text.matchAll(/\[([^\]]+)\]\(((?!https?:|#)[^)#]+)[^)]*\)/g)) {
      const file = new URL(target, page);
      const stat = await Deno.stat(file).catch(() => assert.fail(`[${label}](${target}): no such file`));
      const name = /^`(\w+)`$/.exec(label)?.[1];
      if (!name || !stat.isFile || !target.endsWith(".ts")) continue;
      assert.match(await Deno.readTextFile(file), definition(name), `${target} defines no ${name}`);
    }
  });
}

/** Anchors of the headings of a page. */
function anchorsOf(text: string): string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, "");
  return Array.from(prose.matchAll(/^#+ (.+)$/gm), ([, heading]) => slugify(heading));
}

Deno.test("anchors in links are headings of the linked page", async () => {
  let count = 0;
  for (const page of await pages()) {
    const text = await Deno.readTextFile(page);
    for (const [link, target, anchor] of text.matchAll(/\]\(((?!https?:)[^)#]*)#([^)]+)\)/g)) {
      const linked = target === "" ? text : await Deno.readTextFile(new URL(target, page));
      assert.ok(anchorsOf(linked).includes(anchor), `${page.pathname}: ${link}`);
      count++;
    }
  }
  assert.ok(count > 20, `${count} anchors`);
});
