/**
 * Writes the documentation site to `dist/docs`. VitePress builds the pages: the guides, the linked source files
 * and the reference of `deno doc`. esbuild builds the playground. `dist/site` has its input and VitePress.
 */
import { dirname } from "node:path";
import { command, main } from "../src/commands/command.ts";
import { buildPlayground, type NavigationLink, playgroundLink } from "./docs/playground.ts";
import { contentsPage, type Group, readGroups } from "./docs/contents.ts";
import { columnWidth } from "./docs/declaration.ts";
import { referenceFolder, referencePages } from "./docs/reference.ts";
import { theme, themeStyle } from "./docs/theme.ts";
import { placeOf, type Repository, stage } from "./docs/stage.ts";

/** Not in deno.json: Deno would download it for every user. */
const vitepress = "npm:vitepress@1.6.4";

const root = `${import.meta.dirname}/..`;
const work = `${root}/dist/site`;
const out = `${root}/dist/docs`;

const repository: Repository = {
  read: (path) => Deno.readTextFile(`${root}/${path}`),
  async list(folder) {
    const entries = await Array.fromAsync(Deno.readDir(`${root}/${folder}`));
    return entries.map(({ name, isDirectory }) => isDirectory ? `${name}/` : name).sort();
  },
};

/** Runs Deno, and returns its output. @throws {Error} If it fails; prints its output then. */
async function deno(folder: string, ...args: string[]): Promise<string> {
  // VitePress takes links to unknown extensions for pages.
  const env = { VITE_EXTRA_EXTENSIONS: "jsonl" };
  const output = await new Deno.Command(Deno.execPath(), { args, cwd: folder, env }).output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (output.success) return stdout;
  console.error(stdout + stderr);
  throw new Error(`deno ${args.slice(0, 4).join(" ")} failed; its output is above`);
}

/** The pages of the reference by their name. */
async function reference(): Promise<Map<string, string>> {
  const { name, exports } = JSON.parse(await repository.read("deno.json"));
  const modules = new Map(
    Object.entries<string>(exports).map(([part, file]) => [file.slice("./".length), name + part.slice(1)]),
  );
  const described = await deno(root, "doc", "--json", ...modules.keys());
  return await referencePages(JSON.parse(described), modules, repository.read);
}

/** Navigation and sidebars: one with the groups of the contents, and one with the reference. */
function navigation(groups: readonly Group[], references: Iterable<string>) {
  const contents = groups.map(({ title, pages }) => ({
    text: title,
    items: pages.map(({ title, path }) => ({ text: title, link: `/${placeOf(path)}.html` })),
  }));
  const pageOf = (name: string) => `/${referenceFolder}/${name}.html`;
  const folders = [...references].filter((name) => name !== "index");
  const reference = {
    text: "Reference",
    items: [
      { text: "All exports", link: pageOf("index") },
      ...folders.map((name) => ({ text: name, link: pageOf(name) })),
    ],
  };
  const nav = [
    ...[...contents, reference].map(({ text, items }) => ({
      text,
      link: items[0].link,
      activeMatch: `^${dirname(items[0].link)}/`,
    })),
    { text: "Playground", link: playgroundLink },
  ];
  return { nav, sidebar: { [`/${referenceFolder}/`]: [reference], "/": contents } };
}

/**
 * Writes the pages, the configuration and the theme of VitePress to the work folder.
 *
 * @returns Links of the header.
 */
async function writeSources(base: string): Promise<NavigationLink[]> {
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(`${work}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${work}/${path}`, text);
  };
  const { texts, copies } = await stage(repository);
  for (const [place, text] of texts) await write(`pages/${place}`, text);
  for (const [place, path] of copies) {
    await Deno.mkdir(dirname(`${work}/pages/${place}`), { recursive: true });
    await Deno.copyFile(`${root}/${path}`, `${work}/pages/${place}`);
  }
  const references = await reference();
  for (const [name, text] of references) await write(`pages/${referenceFolder}/${name}.md`, text);
  // Code that fits into the column of a page.
  const form = ["--quiet", "--no-config", "--prose-wrap", "preserve", "--line-width", `${columnWidth}`];
  await deno(`${work}/pages/${referenceFolder}`, "fmt", ...form, ".");
  const groups = readGroups(await repository.read(contentsPage));
  const site = { base, out, ...navigation(groups, references.keys()) };
  await write("pages/.vitepress/site.json", JSON.stringify(site));
  for (const file of ["config.js", "slugify.js"]) {
    await write(`pages/.vitepress/${file}`, await repository.read(`tasks/docs/${file}`));
  }
  await write("pages/public/mark.svg", await repository.read("web/mark.svg"));
  const sheets = ["tasks/docs/style.css", "web/stage.css"].map(repository.read);
  await write("pages/.vitepress/style.css", [...await Promise.all(sheets), themeStyle].join("\n"));
  await write("pages/.vitepress/theme/index.js", theme);
  await write("package.json", '{ "private": true, "type": "module" }\n');
  return site.nav;
}

/** `deno task docs`. */
async function docs(args: string[]): Promise<number> {
  const program = command(
    "docs",
    "Writes the documentation site to dist/docs/: static files for any web server.",
  )
    .option("--base <path>", "path of the site on its server, such as /weft/", "/")
    .parse(args, { from: "user" });
  await Deno.remove(`${work}/pages`, { recursive: true }).catch(() => {});
  await Deno.remove(out, { recursive: true }).catch(() => {});
  const links = await writeSources(program.opts<{ base: string }>().base);
  await deno(work, "install", "--quiet", "--node-modules-dir=auto", vitepress);
  await deno(work, "run", "--quiet", "-A", vitepress, "build", "pages");
  // Its page replaces the page that the search finds.
  await buildPlayground(root, `${out}/playground`, links);
  console.log('wrote dist/docs; "npx -y serve dist/docs" serves it');
  return 0;
}

if (import.meta.main) await main(docs);
