/** Links of Markdown pages. */

/** A relative link of a page, without its anchor. */
export interface Link {
  /** Path that the page names, relative to its folder. */
  readonly target: string;
  /** The anchor with its "#", or an empty text. */
  readonly anchor: string;
}

const code = /^(`{3,})[^]*?^\1|`[^`\n]+`/gm;
const link = /\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g;

/** Replaces the relative links of a page, except in code. */
export function replaceLinks(text: string, replace: (link: Link) => string): string {
  const replaceIn = (prose: string) =>
    prose.replaceAll(link, (_, target: string, anchor = "") => `](${replace({ target, anchor })})`);
  let result = "";
  let end = 0;
  for (const { 0: block, index } of text.matchAll(code)) {
    result += replaceIn(text.slice(end, index)) + block;
    end = index + block.length;
  }
  return result + replaceIn(text.slice(end));
}

/** The relative links of a page, in order. */
export function linksOf(text: string): Link[] {
  const found: Link[] = [];
  replaceLinks(text, (link) => {
    found.push(link);
    return link.target;
  });
  return found;
}
