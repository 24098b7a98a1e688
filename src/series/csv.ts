import { escapeFormula } from "../data/table/formula.ts";

/**
 * Rows as comma-separated values (RFC 4180), without a last line end. A text that a spreadsheet would compute has a single quote
 * before it, which `readTable` takes away.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((fields) => fields.map(field).join(",")).join("\n");
}

function field(value: string | number): string {
  const text = typeof value === "number" ? `${value}` : escapeFormula(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
