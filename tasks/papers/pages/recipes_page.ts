/** The page docs/research/recipes.md: all recipes with their sources. */
import { markdownTable } from "../../markdown.ts";
import { fastWeightsRecipes } from "../recipes/fast_weights.ts";
import { neuralCdeRecipes } from "../recipes/neural_cde.ts";
import type { Cited, PaperRecipes, Recipe } from "../recipes/recipe.ts";
import { warpRecipes } from "../recipes/warp_ett.ts";

/** The recipes of all papers. */
const papers: readonly PaperRecipes[] = [neuralCdeRecipes, fastWeightsRecipes, warpRecipes];

const introduction = `# Recipes

\`deno task reproduce --pages\` writes this page from [tasks/papers/recipes](../../tasks/papers/recipes). A test
compares each number of the runs with a second list, which is written down from the papers and the authors'
code. \`--recipe paper\` selects a recipe; [reproduce.md](reproduce.md) makes the tables with it.

Paper and code often differ. The value is what the published runs did, as far as the sources show it. Where a
choice was necessary, the last column states the reason. A number that is in one source alone has an empty
cell for the other.
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
  const header = ["number", "value", "paper", "code", "reason"];
  return `### ${title}\n\n${markdownTable([header, ...rows], [0, 1, 2, 3, 4])}\n`;
}

/** Text of a cell of a Markdown table. */
function escaped(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("*", "\\*").replaceAll("_", "\\_");
}
