/** Signatures of declarations, from the source. */

/** Characters of a line of code that fit into the column of a page. */
export const columnWidth = 74;

/**
 * The declaration that begins in a line, as documentation: without the body of a function, the value of a constant, and private
 * and internal members of a class. Relies on the form of `deno fmt`: a declaration ends with a line that is not indented.
 *
 * @param source Text of the file.
 * @param line Line from 0, as in `deno doc --json`.
 */
export function declarationAt(source: string, line: number): string {
  const lines = source.split("\n").slice(line);
  const first = lines[0].replace(/^export (default )?/, "");
  const ends = (end: RegExp) => lines.findIndex((line) => /^\S/.test(line) && end.test(line));
  const until = (end: number) => [first, ...lines.slice(1, end + 1)].join("\n");
  if (/^(async )?function/.test(first)) {
    return until(ends(/[{;]$/)).replace(/ \{$|;$/, "").replace(/^async /, "");
  }
  if (/^const/.test(first)) return until(ends(/;$/)).replace(/ = [^]*$/, "");
  if (/^type/.test(first)) return until(typeEnd(lines));
  const whole = until(lines.findIndex((line) => /^\}|\{\}$/.test(line)));
  return wrapComments(
    (/^(abstract )?class/.test(first) ? withoutBodies(whole) : whole)
      .replaceAll(/\{@link(?:code)? ([^}]+)\}/g, "`$1`"),
  );
}

/** Wraps the comments that are wider than the column, except those with code. Items of lists and tags begin lines. */
function wrapComments(text: string): string {
  return text.replaceAll(/^( *)\/\*\*([^]*?)\*\/$/gm, (comment: string, indent: string, body: string) => {
    const isNarrow = comment.split("\n").every((line) => line.length <= columnWidth);
    if (isNarrow || body.includes("```")) return comment;
    const paragraphs: string[] = [];
    for (const line of body.split("\n").map((line) => line.replace(/^ *\*? ?/, "").trimEnd())) {
      if (paragraphs.at(-1) && !/^$|^[-@]|^ {4}/.test(line)) {
        paragraphs.push(`${paragraphs.pop()} ${line.trim()}`);
      } else paragraphs.push(line);
    }
    const lines = paragraphs.join("\n").trim().split("\n")
      .flatMap((paragraph) => wrap(paragraph, columnWidth - indent.length - 3));
    return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join(
      "\n",
    );
  });
}

/** Breaks a text at spaces into lines of at most a width, if its words are no longer. */
function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

/** Last line of an alias of a type: ends with a semicolon, and the next line is not indented. */
function typeEnd(lines: readonly string[]): number {
  return lines.findIndex((line, i) => line.endsWith(";") && !/^\s+\S|^\}/.test(lines[i + 1] ?? ""));
}

/** A class without bodies of methods, and without private and internal members. */
function withoutBodies(text: string): string {
  return text
    .replaceAll(/^( {2}(?! )(?![/*]).*[^,(]) \{\n(?:(?: {4}.*| *)\n)*? {2}\}$/gm, "$1;")
    .replaceAll(/^( {2}[^/*\n]*\)[^\n]*) \{.*\}$/gm, "$1;")
    .replaceAll(/(?:^ {2}\/\*\*(?:(?!\*\/)[^])*\*\/\n)?^ {2}(?:private |(?:get )?#)[^]*?;\n+/gm, "")
    .replaceAll(/^ {2}\/\*\*(?:(?!\*\/)[^])*@internal(?:(?!\*\/)[^])*\*\/\n {2}[^]*?;\n+/gm, "");
}
