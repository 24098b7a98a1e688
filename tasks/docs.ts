/**
 * Writes the documentation site to `dist/docs`. VitePress builds the pages, and `deno doc` the reference. `dist/site` has the
 * pages with the links of the site, and VitePress.
 */
import { dirname } from "node:path";
import { command, main } from "../src/commands/command.ts";
import { contentsPage, type Group, readGroups } from "./docs/contents.ts";
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

/** Runs Deno, and prints its output only if it fails. @throws {Error} If it fails. */
async function deno(folder: string, ...args: string[]): Promise<void> {
  // VitePress takes links to unknown extensions for pages.
  const env = { VITE_EXTRA_EXTENSIONS: "jsonl" };
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder, env })
    .output();
  if (success) return;
  for (const output of [stdout, stderr]) console.error(new TextDecoder().decode(output));
  throw new Error(`deno ${args.slice(0, 4).join(" ")} failed; its output is above`);
}

/** Navigation and sidebar: the groups of the contents. */
function navigation(groups: readonly Group[]) {
  const page = (path: string) => `/${placeOf(path)}.html`;
  return {
    nav: [
      ...groups.map(({ title, pages }) => ({
        text: title,
        link: page(pages[0].path),
        activeMatch: `^/${dirname(placeOf(pages[0].path))}/`,
      })),
      // A page of another builder: a link with a target leaves VitePress's router.
      { text: "Reference", link: "/reference/index.html", target: "_self" },
    ],
    sidebar: groups.map(({ title, pages }) => ({
      text: title,
      items: pages.map(({ title, path }) => ({ text: title, link: page(path) })),
    })),
  };
}

/** Writes the pages, the configuration and the theme of VitePress to the work folder. */
async function writeSources(base: string): Promise<void> {
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(`${work}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${work}/${path}`, text);
  };
  const { pages, copies } = await stage(repository);
  for (const [place, text] of pages) await write(`pages/${place}`, text);
  for (const [place, path] of copies) await write(`pages/${place}`, await repository.read(path));
  const groups = await readGroups(await repository.read(contentsPage), repository.read);
  await write("pages/.vitepress/site.json", JSON.stringify({ base, out, ...navigation(groups) }));
  for (const file of ["config.js", "theme/index.js", "theme/style.css"]) {
    await write(`pages/.vitepress/${file}`, await repository.read(`tasks/docs/${file}`));
  }
  await write("package.json", '{ "private": true, "type": "module" }\n');
}

/** Folders of the site that VitePress does not build. */
const additions: Record<string, (folder: string) => Promise<void>> = {
  async reference(folder) {
    const modules = Object.values<string>(JSON.parse(await repository.read("deno.json")).exports);
    await deno(root, "doc", "--html", "--name=Weft", `--output=${folder}`, ...modules);
  },
};

/** `deno task docs`. */
async function docs(args: string[]): Promise<number> {
  const program = command("docs", "Writes the documentation site to dist/docs/: static files for any web server.")
    .option("--base <path>", "path of the site on its server, such as /weft/", "/")
    .parse(args, { from: "user" });
  await Deno.remove(`${work}/pages`, { recursive: true }).catch(() => {});
  await Deno.remove(out, { recursive: true }).catch(() => {});
  await writeSources(program.opts<{ base: string }>().base);
  await deno(work, "install", "--quiet", "--node-modules-dir=auto", vitepress);
  await deno(work, "run", "--quiet", "-A", vitepress, "build", "pages");
  for (const [name, build] of Object.entries(additions)) await build(`${out}/${name}`);
  console.log('wrote dist/docs; "npx -y serve dist/docs" serves it');
  return 0;
}

if (import.meta.main) await main(docs);
