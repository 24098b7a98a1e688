/** Table options that a request may set. */
import { delimiters, duplicateRules, encodings, type TableOptions } from "../../data/table/options.ts";

/** Query parameters for the notation of a table, with their valid values. */
export const tableNotations = {
  delimiter: delimiters,
  decimal: [".", ","],
  encoding: encodings,
  duplicates: duplicateRules,
} as const satisfies { readonly [name in keyof TableOptions]?: readonly TableOptions[name][] };

/** The query parameter that sets an option; undefined for an option that requests cannot set. */
export function parameterOf(option: string | undefined): string | undefined {
  return option !== undefined && Object.hasOwn(tableNotations, option) ? option : undefined;
}
