/** Sentences of the result pages that contain numbers. docs/tables/claims.csv has the origin of each. */

/** Pages whose tables come from docs/tables, and whose sentences with numbers are recorded there. */
export const claimPages: readonly string[] = [
  "docs/research/errata.md",
  "docs/research/fast_weights.md",
  "docs/research/model_choice.md",
  "docs/research/results.md",
  "docs/research/state_tracking.md",
  "docs/research/warp.md",
  "docs/research/warp_results.md",
];

/** Parts of a sentence whose digits are no figures: code, addresses of links, references and years. */
const withoutFigures = /`[^`]*`|\]\([^)]*\)|\b(?:table|figure|section|equation) [\d.]+|\b(?:19|20)\d\d\b/gi;

/**
 * The sentences of a page that contain a number, with single spaces. Code, comments and generated tables are left
 * out; a row of another table counts as a sentence. The digits of names such as x_0, ETTh1 and D.2 are not numbers.
 */
export function claimsOf(text: string): string[] {
  const prose = text
    .replaceAll(/<!-- table: [^]*?<!-- end of table -->/g, "")
    .replaceAll(/^```[^]*?^```$/gm, "")
    .replaceAll(/<!--[^]*?-->/g, "")
    .replaceAll(/^ {4}.*$/gm, "");
  const blocks = prose.split(/\n\s*\n/).flatMap((block) =>
    block.startsWith("|") ? block.split("\n") : block.split(/^(?:- |\d+\. )/m)
  );
  return blocks.flatMap((block) =>
    block.replaceAll(/\s+/g, " ").trim().split(/(?<=[^.]\.|:|\)\.)\s(?=[A-Z`])/)
  ).filter((sentence) => /(?<![\w.])\d/.test(sentence.replaceAll(withoutFigures, "")));
}
