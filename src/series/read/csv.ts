import { escapeFormula } from "../../data/table/formula.ts";
import { missingRule } from "../../data/table/options.ts";

const { isWord } = missingRule({});

/**
 * Formats rows as comma-separated values (RFC 4180), without a final line break. A text that a spreadsheet
 * would evaluate gets a leading single quote, which `readTable` removes. A text that is a word for a missing value,
 * such as the class `NA`, is in quotes, so that `readTable` reads it as a text.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((fields) => fields.map(field).join(",")).join("\n");
}

function field(value: string | number): string {
  const text = typeof value === "number" ? `${value}` : escapeFormula(value);
  return /[",\r\n]/.test(text) || typeof value === "string" && isWord(value)
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}
