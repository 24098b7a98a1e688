import { escapeFormula } from "../data/table/formula.ts";

/**
 * Formats rows as comma-separated values (RFC 4180), without a final line break. A text that a spreadsheet
 * would evaluate gets a leading single quote, which `readTable` removes.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((fields) => fields.map(field).join(",")).join("\n");
}

function field(value: string | number): string {
  const text = typeof value === "number" ? `${value}` : escapeFormula(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
