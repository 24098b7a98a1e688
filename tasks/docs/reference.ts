/**
 * The reference: a page for each folder of `src/`, with every export that is defined there. `deno doc --json` lists the exports and
 * their documentation. Signatures are lines of the source, whose form `deno fmt` fixes.
 */
import { declarationAt } from "./declaration.ts";

interface Place {
  readonly filename: string;
  readonly line: number;
}

interface Documentation {
  readonly doc?: string;
  readonly tags?: readonly { kind: string; name?: string; type?: string; doc?: string }[];
}

/** The part of the output of `deno doc --json` that is used here. */
export interface DenoDoc {
  readonly nodes: Readonly<
    Record<string, {
      readonly module_doc?: Documentation;
      readonly symbols: readonly {
        readonly name: string;
        readonly declarations: readonly {
          readonly kind: string;
          readonly location: Place;
          readonly jsDoc?: Documentation;
          readonly def?: { readonly target?: Place };
        }[];
      }[];
    }>
  >;
}

interface Export {
  readonly name: string;
  readonly kind: string;
  readonly place: Place;
  readonly documentation: Documentation;
  readonly modules: Set<string>;
}

/** Folder of the pages on the site. */
export const referenceFolder = "reference";

/**
 * Makes the pages of the reference, and their list, `index`.
 *
 * @param described Output of `deno doc --json` for the modules of the package.
 * @param modules Import specifiers by path of the module, such as `src/nn/mod.ts` for `@weft/weft/nn`.
 * @param read Reads a file of the repository.
 * @returns Texts by name of the page, such as `nn`.
 */
export async function referencePages(
  described: DenoDoc,
  modules: ReadonlyMap<string, string>,
  read: (path: string) => Promise<string>,
): Promise<Map<string, string>> {
  const pathOf = pathsBelow(Object.keys(described.nodes));
  const exports = exportsOf(described, (file) => modules.get(pathOf(file))!);
  const pageOf = new Map(exports.map(({ name, place }) => [name, pathOf(place.filename).split("/")[1]]));
  const values = new Set(exports.filter(({ kind }) => !typeKinds.includes(kind)).map(({ name }) => name));
  /** Functions and classes come before types. */
  const inOrder = (a: string, b: string) => Number(values.has(b)) - Number(values.has(a)) || byLetters(a, b);
  const pages = new Map<string, string>();
  for (const page of [...new Set(pageOf.values())].sort()) {
    const part = Object.entries(described.nodes).find(([file]) => pathOf(file) === `src/${page}/mod.ts`)?.[1];
    const names = [...pageOf].filter(([, on]) => on === page).map(([name]) => name).sort(inOrder);
    const sections = [`# ${page}`, ...part ? [documentationText(part.module_doc ?? {}, pageOf)] : []];
    for (const name of names) {
      const declarations = exports.filter((exported) => exported.name === name);
      sections.push(`## ${name}`, `From \`${[...declarations[0].modules].sort().join("`, `")}\``);
      for (const { place, documentation } of declarations) {
        const code = fence(declarationAt(await read(pathOf(place.filename)), place.line));
        // The implementation of overloads has the form of the last one.
        if (!sections.includes(code)) sections.push(code, documentationText(documentation, pageOf));
      }
    }
    pages.set(page, `${sections.filter((section) => section !== "").join("\n\n")}\n`);
  }
  const list = [...pages.keys()].map((page) => {
    const names = exports.filter(({ name }) => pageOf.get(name) === page).map(({ name }) => name);
    const links = [...new Set(names)].sort(inOrder).map((name) => linkTo(name, page));
    return `## [${page}](/${referenceFolder}/${page}.html)\n\n${links.join(", ")}`;
  });
  pages.set("index", `# Reference\n\nEvery export, by the folder of its source.\n\n${list.join("\n\n")}\n`);
  return pages;
}

const linkTo = (name: string, page: string) =>
  `[\`${name}\`](/${referenceFolder}/${page}.html#${name.toLowerCase()})`;

/** Kinds of declarations that are no values. */
const typeKinds = ["interface", "typeAlias"];

const byLetters = (a: string, b: string) => a.toLowerCase() < b.toLowerCase() ? -1 : 1;

/** Returns a function from URLs of files to paths below the folder of `mod.ts`. */
function pathsBelow(files: readonly string[]): (file: string) => string {
  const root = files.find((file) => !file.includes("/src/"))!.replace(/mod\.ts$/, "");
  return (file) => file.slice(root.length);
}

/** Every declaration that a module exports, once. */
function exportsOf({ nodes }: DenoDoc, specifierOf: (file: string) => string): Export[] {
  const known = new Map<string, Export>();
  const found = Object.entries(nodes).flatMap(([file, { symbols }]) =>
    symbols.flatMap(({ name, declarations }) =>
      declarations.map((declaration) => ({ file, name, ...declaration }))
    )
  );
  const keyOf = (name: string, { filename, line }: Place) => `${name} ${filename} ${line}`;
  for (const { name, kind, location, jsDoc = {} } of found) {
    if (kind === "reference") continue;
    known.set(keyOf(name, location), {
      name,
      kind,
      place: location,
      documentation: jsDoc,
      modules: new Set(),
    });
  }
  for (const { file, name, location, def } of found) {
    const key = keyOf(name, def?.target ?? location);
    // A reference leads to the first declaration of a name.
    for (const [other, exported] of known) {
      if (other === key || exported.name === name && exported.place.filename === def?.target?.filename) {
        exported.modules.add(specifierOf(file));
      }
    }
  }
  return [...known.values()];
}

const fence = (code: string) => `\`\`\`ts\n${code}\n\`\`\``;

/** Titles of the tags that the pages show. */
const tagTitles: Record<string, string> = { param: "Parameters", return: "Returns", throws: "Throws" };

/** Documentation as Markdown. */
function documentationText(
  { doc = "", tags = [] }: Documentation,
  pageOf: ReadonlyMap<string, string>,
): string {
  const text = (doc = "") => withLinks(doc.trim(), pageOf);
  const parts = [text(doc)];
  for (const [kind, title] of Object.entries(tagTitles)) {
    const lines = tags.filter((tag) => tag.kind === kind).map(({ name, type, doc }) => {
      const subject = name ?? type;
      const head = subject === undefined ? "" : `\`${subject}\`: `;
      return `- ${head}${text(doc).replaceAll("\n", "\n  ")}`;
    });
    if (lines.length > 0) parts.push(`**${title}**`, lines.join("\n"));
  }
  parts.push(...tags.filter(({ kind }) => kind === "example").map(({ doc }) => text(doc)));
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Replaces `{@linkcode name}` by a link, and characters that Vue or HTML would read, except in code. */
function withLinks(text: string, pageOf: ReadonlyMap<string, string>): string {
  return text.split(/(```[^]*?```|`[^`]*`|\n\n(?: {4}.*\n?)+)/).map((part, i) =>
    i % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;{").replaceAll(
      /\{@link(?:code)? ([\w.]+)\}/g,
      (_, name: string) => pageOf.has(name) ? linkTo(name, pageOf.get(name)!) : `\`${name}\``,
    )
  ).join("");
}
