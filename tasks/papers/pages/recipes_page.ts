/** The page docs/research/recipes.md: all recipes with their sources. */
import { markdownTable } from "../../markdown.ts";
import { papers } from "../recipes/papers.ts";
import type { Cited, PaperRecipes, Recipe } from "../recipes/recipe.ts";

const introduction = `# Recipes

Which settings did the papers' runs have? This page lists the value of each setting, with its sources in the
paper and in the authors' code. \`--recipe paper\` trains with these values. [reproduce.md](reproduce.md) makes
the tables of the papers.

The paper and its code often differ. The value is that of the published runs, where the sources show it. The
last column states the reason for a choice. The columns of the sources name the place, and the value if it
differs. An empty cell means that the source has no value.

\`deno task reproduce --pages\` writes this page from [tasks/papers/recipes](../../tasks/papers/recipes). A test
compares each value with a second list, which was made from the papers and the authors' code.
`;

/** The page as Markdown in the form of `deno fmt`. */
export function recipesPage(): string {
  return [introduction, ...papers.map(partOf)].join("\n");
}

function partOf({ paper, code, recipes }: PaperRecipes): string {
  return `## ${paper}\n\nCode: ${code}.\n\n${recipes.map(sectionOf).join("\n")}`;
}

function sectionOf({ title, settings, rules }: Recipe): string {
  const rows = Object.entries<Cited<string | number | boolean>>({ ...settings, ...rules }).map((
    [name, { value, paper = "", code = "", reason = "" }],
  ) => [name, `${value}`, paper, code, reason].map(escaped));
  const header = ["setting", "value", "paper", "code", "reason"];
  return `### ${title}\n\n${markdownTable([header, ...rows], [0, 1, 2, 3, 4])}\n`;
}

/** Text of a cell of a Markdown table. */
function escaped(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("*", "\\*").replaceAll("_", "\\_");
}
