/** Escapes texts that a spreadsheet would evaluate as formulas, in delimited text. */
import { numberOf } from "../format.ts";

/**
 * Matches the beginning of a formula (OWASP, "CSV Injection"), in half or full width. Leading single quotes
 * are from texts that were escaped before.
 */
const formula = /^'*(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])/;

/** Puts a single quote before a text that a spreadsheet would evaluate. Numbers are not changed. */
export function escapeFormula(text: string): string {
  return formula.test(text) && Number.isNaN(numberOf(text)) ? `'${text}` : text;
}

/** Inverse of {@linkcode escapeFormula}. Returns undefined if the text was not escaped. */
export function unescapeFormula(text: string): string | undefined {
  if (!text.startsWith("'")) return undefined;
  const unescaped = text.slice(1);
  return escapeFormula(unescaped) === text ? unescaped : undefined;
}
