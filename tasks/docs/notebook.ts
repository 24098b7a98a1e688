/** Notebooks as pages: cells in order, each with its stored outputs. */
import { basename } from "node:path";

/** Text of a notebook's file: a string, or its lines. */
type Lines = string | readonly string[];

interface Notebook {
  readonly cells: readonly {
    readonly cell_type: string;
    readonly source: Lines;
    readonly outputs?: readonly { readonly text?: Lines; readonly data?: Readonly<Record<string, Lines>> }[];
  }[];
}

/** A notebook as Markdown, and its pictures by the name of their files. */
export interface NotebookPage {
  readonly text: string;
  readonly pictures: ReadonlyMap<string, string>;
}

const join = (lines: Lines) => (typeof lines === "string" ? lines : lines.join("")).trimEnd();

/** Converts a notebook. @param path Path of the notebook. */
export function notebookPage(path: string, json: string): NotebookPage {
  const { cells }: Notebook = JSON.parse(json);
  const pictures = new Map<string, string>();
  const parts: string[] = [];
  for (const { cell_type, source, outputs = [] } of cells) {
    parts.push(cell_type === "markdown" ? join(source) : fence("ts", join(source)));
    let printed = "";
    for (const { text, data } of outputs) {
      const picture = data?.["image/svg+xml"];
      if (picture === undefined) {
        printed += `${join(text ?? data?.["text/plain"] ?? "")}\n`;
        continue;
      }
      const name = `${basename(path, ".ipynb")}_${pictures.size + 1}.svg`;
      pictures.set(name, join(picture));
      parts.push(`![${join(data?.["text/plain"] ?? "picture")}](${name})`);
    }
    if (printed !== "") parts.push(fence("text", printed.trimEnd()));
  }
  return { text: `${parts.join("\n\n")}\n`, pictures };
}

const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``;
