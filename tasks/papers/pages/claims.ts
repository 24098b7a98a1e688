/** Sentences of the result pages that contain numbers. docs/tables/claims.csv has the origin of each. */

/** Pages whose sentences with numbers are recorded. */
export const claimPages: readonly string[] = ["docs/research/results.md", "docs/research/warp_results.md"];

/**
 * The sentences of a page that contain a digit, with single spaces. Code, comments and generated tables are left
 * out; a row of another table counts as a sentence.
 */
export function claimsOf(text: string): string[] {
  const prose = text
    .replaceAll(/<!-- table: [^]*?<!-- end of table -->/g, "")
    .replaceAll(/^```[^]*?^```$/gm, "")
    .replaceAll(/<!--[^]*?-->/g, "");
  const blocks = prose.split(/\n\s*\n/).flatMap((block) =>
    block.startsWith("|") ? block.split("\n") : block.split(/\n(?=- )/)
  );
  return blocks.flatMap((block) =>
    block.replaceAll(/\s+/g, " ").trim().split(/(?<=[^.]\.|:|\)\.)\s(?=[A-Z`])/)
  ).filter((sentence) => /\d/.test(sentence) && !/^\|[ :|-]*$/.test(sentence));
}
