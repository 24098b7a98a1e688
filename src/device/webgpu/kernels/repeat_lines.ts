/**
 * Repeats lines of a WGSL text, for loops that must be unrolled. Consecutive lines that contain a name in braces are repeated
 * together. The name is replaced by 0, 1, 2, ...
 *
 * @param counts The number of repetitions per name. Names are replaced in this order.
 */
export function repeatLines(text: string, counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).reduce((repeated, [name, count]) => {
    const blocks = new RegExp(`(?:^.*\\{${name}\\}.*\\n)+`, "gm");
    return repeated.replace(
      blocks,
      (block) => Array.from({ length: count }, (_, i) => block.replaceAll(`{${name}}`, `${i}`)).join(""),
    );
  }, text);
}
