/** The pages and parts of pages in docs/ that `deno task reproduce --pages` writes. */
import { claimPages } from "./claims.ts";
import { withRecordedTables } from "./recorded_tables.ts";
import { recipesPage } from "./recipes_page.ts";

/** A page that is generated from data. */
export interface GeneratedPage {
  /** Path below the root of the repository. */
  readonly path: string;
  /** Returns the new text of the page. @param text The current text; empty if there is no page. */
  render(text: string): string | Promise<string>;
}

/** All generated pages. */
export const generatedPages: readonly GeneratedPage[] = [
  { path: "docs/research/recipes.md", render: recipesPage },
  ...claimPages.map((path) => ({ path, render: withRecordedTables })),
];
