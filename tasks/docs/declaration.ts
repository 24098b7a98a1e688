/** Signatures of declarations, from the source. */

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
  return (/^(abstract )?class/.test(first) ? withoutBodies(whole) : whole)
    .replaceAll(/\{@link(?:code)? ([^}]+)\}/g, "`$1`");
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
