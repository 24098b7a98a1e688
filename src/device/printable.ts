/** Names of characters in escape sequences. */
const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Escapes the characters of a text that control a terminal, and those that change the direction of writing, as in
 * JSON: `\u001b` for an escape character. Texts of users' files pass through this function before they are printed.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu,
    (letter) => named[letter] ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As {@linkcode printable} for a text of several lines, whose line ends are kept. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
