/** Rows as comma-separated values (RFC 4180), without a last line end. */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((fields) => fields.map(field).join(",")).join("\n");
}

function field(value: string | number): string {
  const text = `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
