/** Parameters in notebooks. */
import { tableBundle } from "../charts/display.ts";
import type { MimeBundle } from "../charts/display_symbol.ts";
import { formatShape } from "../device/shape.ts";
import { type Tree, treeFlatten } from "../tensor/tree.ts";
import { countOf, entriesOf, layerTitle } from "./format_layer.ts";

/**
 * Layers and parameters as a table with their numbers of parameters.
 *
 * @param text The result of `formatLayer`, for programs that show no tables.
 */
export function displayParameters(parameters: Tree, text: string): MimeBundle {
  const named = treeFlatten(parameters);
  const total = countOf(named.map(([, x]) => x));
  const rows = entriesOf(named).map(({ level, name, tensor, path }) => {
    const count = tensor?.size ??
      countOf(named.flatMap(([other, x]) => other.startsWith(`${path}.`) ? [x] : []));
    // HTML collapses spaces, but not em spaces.
    const type = tensor ? [formatShape(tensor.shape), tensor.dtype] : ["", ""];
    return ["\u2003".repeat(level) + name, ...type, count.toLocaleString("en")];
  });
  return tableBundle(text, {
    title: layerTitle(total),
    head: ["name", "shape", "type", "parameters"],
    rows,
    texts: [1, 2],
  });
}
