/** Notations of a table that a request may name. */
import { delimiters, duplicateRules, encodings, type TableOptions } from "../data/table/options.ts";

/** Parameters of an address that say how its table is written, with the choices. */
export const tableNotations = {
  delimiter: delimiters,
  decimal: [".", ","],
  encoding: encodings,
  duplicates: duplicateRules,
} as const satisfies { readonly [name in keyof TableOptions]?: readonly TableOptions[name][] };

/**
 * A message about a table as it helps a client: options are parameters of the address, and what another option would mend is left out,
 * as the columns are those that the model learned from.
 */
export function forClients(message: string): string {
  const [problem, ...remedies] = message.split("; ");
  const possible = remedies.filter((remedy) => {
    const option = remedy.match(/\bthe option (\w+)/)?.[1];
    return option === undefined || Object.hasOwn(tableNotations, option);
  });
  return [problem, ...possible].join("; ").replaceAll(/\bthe option (?=\w)/g, "the parameter ");
}
