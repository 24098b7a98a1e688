/** Outputs of notebooks, as `deno jupyter` asks for them. */
import assert from "node:assert/strict";

/** The output of a value by MIME type. */
export async function displayOf(value: unknown): Promise<Record<string, string>> {
  const method = (value as Record<symbol, unknown>)[Symbol.for("Jupyter.display")];
  assert.ok(typeof method === "function", "the value has no method for notebooks");
  return await method.call(value);
}

/** Texts of the cells of each row of an HTML table, the head included. */
export function rowsOf(html: string): string[][] {
  return [...html.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, text]) => text)
  );
}
