/** The table of contents of the documentation: the lists of docs/README.md. */
import { posix } from "node:path";

/** Pages under one heading. */
export interface Group {
  readonly title: string;
  readonly pages: readonly { readonly title: string; readonly path: string }[];
}

/** The first page of the site. */
export const firstPage = "docs/index.md";

/** Page with the contents. */
export const contentsPage = "docs/README.md";

/** The groups whose headings the contents have, in order. */
const groupTitles = ["Start", "Guides", "Research", "Internals"];

/** An entry of a list: a link, and its description. */
const entry = /^- \[([^\]]+)\]\(([^)]+)\)/gm;

/**
 * Reads the groups and their pages from the contents.
 *
 * @param text Text of the page with the contents.
 * @throws {Error} If a group has no page.
 */
export function readGroups(text: string): Group[] {
  const sections = new Map(text.split(/^## /m).map((section) => [section.split("\n", 1)[0], section]));
  return groupTitles.map((title) => {
    const entries = (sections.get(title) ?? "").matchAll(entry);
    const pages = Array.from(entries, ([, title, target]) => ({ title, path: posix.join("docs", target) }));
    if (pages.length === 0) {
      throw new Error(`${contentsPage}: expected links below the heading "## ${title}"`);
    }
    return { title, pages };
  });
}
