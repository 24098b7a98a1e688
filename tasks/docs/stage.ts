/**
 * Pages of the site. The site has the first page, the contents, and every file that its pages link: pages are changed only in
 * their links, notebooks become pages with their outputs, code files become pages with highlighted code, folders become lists
 * of their files, and other files are copied.
 */
import { basename, dirname, extname, posix } from "node:path";
import { contentsPage, firstPage } from "./contents.ts";
import { linksOf, replaceLinks } from "./markdown.ts";
import { notebookPage } from "./notebook.ts";

/** Languages of code files by the extension, or by the name of a file without one. */
const languages: Record<string, string> = {
  ...{ ".ts": "ts", ".js": "js", ".py": "py", ".wgsl": "wgsl", ".cff": "yaml", Dockerfile: "docker" },
};
const kindOf = (path: string) => extname(path) || basename(path);

const isPage = (path: string) => /\.(md|ipynb)$/.test(path);
const isCode = (path: string) => kindOf(path) in languages;
const isFolder = (path: string) => extname(path) === "" && !isCode(path);

/** Folder with the source of the playground, which is a page of the site that VitePress does not build. */
export const playground = "web";

/** Path of a page on the site without its extension. `docs/` is dropped; `README` becomes `index`. */
export function placeOf(path: string): string {
  if (path === playground) return "playground/index";
  if (path === contentsPage) return "contents";
  if (isFolder(path)) return `source/${path}/index`;
  if (isCode(path)) return `source/${path}`;
  return path.replace(/^docs\//, "").replace(/README\.md$/, "index.md").replace(/\.(md|ipynb)$/, "");
}

/** Files of the site by their path in the folder of VitePress. */
export interface Staged {
  /** Texts of pages and of pictures of notebooks. */
  readonly texts: ReadonlyMap<string, string>;
  /** Path in the repository of each file that is copied without a change. */
  readonly copies: ReadonlyMap<string, string>;
}

/** Reads the files of a repository by their path. */
export interface Repository {
  read(path: string): Promise<string>;
  /** Names in a folder, sorted. */
  list(folder: string): Promise<string[]>;
}

/** Collects the pages that the contents reach, with links between their places. */
export async function stage(repository: Repository): Promise<Staged> {
  const texts = new Map<string, string>();
  const copies = new Map<string, string>();
  const known = new Set([firstPage, contentsPage]);
  for (const path of known) {
    const place = placeOf(path);
    if (isFolder(path)) continue;
    if (isCode(path)) texts.set(`${place}.md`, codePage(path, await repository.read(path)));
    else if (isPage(path)) {
      const file = await repository.read(path);
      const { text, pictures } = path.endsWith(".md")
        ? { text: file, pictures: new Map<string, string>() }
        : notebookPage(path, file);
      for (const { target } of linksOf(text)) {
        if (!pictures.has(target)) known.add(targetOf(path, target));
      }
      for (const [name, picture] of pictures) texts.set(`${dirname(place)}/${name}`, picture);
      texts.set(`${place}.md`, withSiteLinks(path, await withTitles(path, text, repository)));
    } else copies.set(isImage(path) ? place : `public/${place}`, path);
  }
  for (const path of [...known].filter((path) => isFolder(path) && path !== playground)) {
    texts.set(`${placeOf(path)}.md`, folderPage(path, await repository.list(path), known));
  }
  if (known.has(playground)) texts.set(`${placeOf(playground)}.md`, playgroundPage);
  return { texts, copies };
}

/** A page for the search alone: the browser loads the playground in its place. */
const playgroundPage = `# Playground: train in a browser

Train a Neural CDE, a fast weight programmer and WARP in the browser, on examples or on a table of your own, draw series
and see their predictions and forecasts.
`;

const isImage = (path: string) => /\.(svg|png)$/.test(path);

/** The path in the repository that a page links. */
function targetOf(page: string, target: string): string {
  return posix.join(dirname(page), target).replace(/\/$/, "");
}

/** Address of a file on the site. */
function addressOf(path: string): string {
  return `${placeOf(path)}${isPage(path) || isCode(path) || isFolder(path) ? ".html" : ""}`;
}

/** Replaces links between files of the repository by links between places of the site. */
function withSiteLinks(page: string, text: string): string {
  const folder = dirname(placeOf(page));
  return replaceLinks(text, ({ target, anchor }) => {
    const path = targetOf(page, target);
    const place = placeOf(path);
    if (isImage(path)) return `${posix.relative(folder, dirname(place)) || "."}/${basename(place)}`;
    return `/${addressOf(path)}${anchor}`;
  });
}

/** Replaces names of files as texts of links, such as `[data.md](data.md)`, by the titles of the pages. */
async function withTitles(page: string, text: string, { read }: Repository): Promise<string> {
  let result = text;
  for (
    const [link, target] of new Map(
      Array.from(text.matchAll(fileNameLink), ([link, target]) => [link, target]),
    )
  ) {
    const title = /^# (.+)$/m.exec(await read(targetOf(page, target)))?.[1];
    if (title !== undefined) result = result.replaceAll(link, `[${title}](${target}`);
  }
  return result;
}

const fileNameLink = /\[[\w./-]+\.md\]\(([^)#\s]+\.md)/g;

/** Pages of code are not searched: the guides and the reference are. */
const codeHead = "---\nsearch: false\nsidebar: false\naside: false\nprev: false\nnext: false\n---\n\n";

/** A file of code as a page. */
function codePage(path: string, text: string): string {
  return `${codeHead}# ${path}\n\n\`\`\`\`${languages[kindOf(path)]}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

/** A folder as a page, with links to the files that the site has. */
function folderPage(path: string, names: readonly string[], known: ReadonlySet<string>): string {
  const entries = names.map((name) => {
    const file = `${path}/${name.replace(/\/$/, "")}`;
    return `- ${known.has(file) ? `[\`${name}\`](/${addressOf(file)})` : `\`${name}\``}`;
  });
  return `${codeHead}# ${path}/\n\n${entries.join("\n")}\n`;
}
