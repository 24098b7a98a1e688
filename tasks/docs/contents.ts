/** The table of contents of the documentation: the lists of docs/README.md. */
import { posix } from "node:path";
import { linksOf, titleOf } from "./markdown.ts";

/** Pages under one heading. */
export interface Group {
  readonly title: string;
  readonly pages: readonly { readonly title: string; readonly path: string }[];
}

/** Page with the contents, and the first page of the site. */
export const contentsPage = "docs/README.md";

/** The groups whose headings the contents have, in order. */
const groupTitles = ["Start", "Guides", "Research", "Internals"];

/**
 * Reads the groups and their pages from the contents.
 *
 * @param text Text of the page with the contents.
 * @param read Reads a page of the repository by its path.
 * @throws {Error} If a group has no page.
 */
export async function readGroups(text: string, read: (path: string) => Promise<string>): Promise<Group[]> {
  const sections = new Map(text.split(/^## /m).map((section) => [section.split("\n", 1)[0], section]));
  return await Promise.all(groupTitles.map(async (title) => {
    const paths = linksOf(sections.get(title) ?? "").map(({ target }) => posix.join("docs", target));
    if (paths.length === 0) {
      throw new Error(`${contentsPage}: expected links below the heading "## ${title}"`);
    }
    const pages = paths.map(async (path) => ({ path, title: titleOf(await read(path), path) }));
    return { title, pages: await Promise.all(pages) };
  }));
}
