/**
 * Code blocks of pages, and the markers above them that change how they are tested.
 *
 * A marker is a comment `<!-- test: part; part -->` on the line above a block, with or without an empty line
 * between them. Its parts:
 *
 * - `long`: only `deno task test --all` runs the block, and the other blocks of the page in its language;
 * - `skip (reason)`: the block is not run;
 * - `skip words (reason)`: commands of the block that contain the words are not run;
 * - `add options`: appended to each `deno task train` of the block, such as fewer epochs.
 */

/** How a block is tested. */
interface Marker {
  readonly long: boolean;
  /** Words of commands that are not run; the empty text matches every command. */
  readonly skipped: readonly string[];
  /** Options for each `deno task train`. */
  readonly added: string;
}

/** A code block of a page. */
export interface Block extends Marker {
  /** Path of the page from the root of the project. */
  readonly page: string;
  /** Line of the first fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Content of the `text` block after the block, if any. */
  readonly output?: string;
}

/** Reads the content of a marker. @throws {Error} If a part is unknown, or a skip has no reason. */
export function readMarker(text: string): Marker {
  let long = false;
  let added = "";
  const skipped: string[] = [];
  for (const part of text.split(";").map((part) => part.trim())) {
    const skip = /^skip\s*(.*?)\s*\((.+)\)$/s.exec(part);
    if (part === "long") long = true;
    else if (part.startsWith("add -")) added = part.slice("add ".length);
    else if (skip) skipped.push(skip[1]);
    else throw new Error(`marker: unknown part "${part}"; expected long, add OPTIONS or skip WORDS (REASON)`);
  }
  return { long, skipped, added };
}

/** Paths of the pages in docs/ and its folders, from the root of the project, sorted. */
export async function documentationPages(folder = "docs"): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(`../../${folder}`, import.meta.url))) {
    if (isDirectory) found.push(...await documentationPages(`${folder}/${name}`));
    else if (name.endsWith(".md")) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

/** The code blocks of a page, in order. */
export function blocksOf(page: string, text: string): Block[] {
  const fence =
    /(?:^<!-- test: ([^]*?) -->\n\n?)?^```(\w+)[^\n]*\n([^]*?)^```$(?:\n\n```text\n([^]*?)^```$)?/gm;
  return Array.from(
    text.matchAll(fence),
    ({ index, 0: all, 1: marker, 2: language, 3: code, 4: output }) => ({
      page,
      line: text.slice(0, index + all.indexOf("```")).split("\n").length,
      language,
      code,
      output,
      ...marker === undefined ? { long: false, skipped: [], added: "" } : readMarker(marker),
    }),
  );
}

/** Whether a block is not run at all. */
export function isSkipped({ skipped }: Marker): boolean {
  return skipped.includes("");
}

/** The commands of a block that are run: without comments, a command over several lines as one. */
export function commandsOf({ code, skipped, added }: Block): string[] {
  const commands: string[] = [];
  let command = "";
  for (const line of code.split("\n")) {
    command += line.replace(/(^|\s+)# .*$/, "");
    const isOpen = (command.match(/'/g) ?? []).length % 2 === 1;
    if (isOpen) command += "\n";
    else if (command.endsWith("\\")) command = command.slice(0, -1);
    else {
      commands.push(command.trim());
      command = "";
    }
  }
  return commands
    .filter((command) => command !== "" && !skipped.some((words) => command.includes(words)))
    .map((command) => added && command.startsWith("deno task train ") ? `${command} ${added}` : command);
}
