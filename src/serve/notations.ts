/** Table options that a request may set. */
import { delimiters, duplicateRules, encodings, type TableOptions } from "../data/table/options.ts";

/** Query parameters for the notation of a table, with their valid values. */
export const tableNotations = {
  delimiter: delimiters,
  decimal: [".", ","],
  encoding: encodings,
  duplicates: duplicateRules,
} as const satisfies { readonly [name in keyof TableOptions]?: readonly TableOptions[name][] };

/**
 * Adapts an error message about a table for clients. Options become query parameters. Advice about other
 * options is removed, since the columns are fixed by the trained model.
 */
export function forClients(message: string): string {
  const [problem, ...remedies] = message.split("; ");
  const possible = remedies.filter((remedy) => {
    const option = remedy.match(/\bthe option (\w+)/)?.[1];
    return option === undefined || Object.hasOwn(tableNotations, option);
  });
  return [problem, ...possible].join("; ").replaceAll(/\bthe option (?=\w)/g, "the parameter ");
}
