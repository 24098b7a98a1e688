import { displayAs, printAs } from "../charts/display_symbol.ts";
import { describe } from "../device/describe.ts";
import { displayParameters } from "./display_parameters.ts";
import { formatLayer } from "./format_layer.ts";
import type { ParameterTree } from "./layer.ts";

/** The result of {@linkcode summary}. */
export interface ModelSummary {
  /** The layers and parameters as an indented list. */
  toString(): string;
}

/**
 * The layers of a model with their numbers of parameters. `deno jupyter` shows the summary as a table. It shows
 * a model as a list, since a model is a function.
 *
 * @example
 * ```ts
 * import { key, MLP, summary } from "@weft/weft";
 *
 * const model = MLP({ inputs: 2, outputs: 3, width: 4, depth: 1, key: key(0) });
 * console.log(`${summary(model.parameters)}`);
 * ```
 */
export function summary(parameters: ParameterTree): ModelSummary {
  if (typeof parameters !== "object" || parameters === null) {
    throw new TypeError(`summary: got ${describe(parameters)}, expected tensors; pass model.parameters`);
  }
  const text = () => formatLayer(parameters);
  return displayAs(printAs({}, text), () => displayParameters(parameters, text()));
}
