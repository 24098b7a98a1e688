/** Texts that a spreadsheet would compute as formulas, in tables of delimited text. */
import { numberOf } from "../format.ts";

/** Begins as a formula does (OWASP, "CSV Injection"), in half or full width, behind the quotes of texts that were escaped already. */
const formula = /^'*(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])/;

/** A text with a single quote before it where a spreadsheet would compute it; numbers stay as they are. */
export function escapeFormula(text: string): string {
  return formula.test(text) && Number.isNaN(numberOf(text)) ? `'${text}` : text;
}

/** The text that {@linkcode escapeFormula} makes a text of; nothing where there is none. */
export function unescapeFormula(text: string): string | undefined {
  if (!text.startsWith("'")) return undefined;
  const own = text.slice(1);
  return escapeFormula(own) === text ? own : undefined;
}
