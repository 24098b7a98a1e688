import { formatShape } from "../device/shape.ts";
import { type Tree, treeFlatten } from "../tensor/tree.ts";

/** The names of a model's layers and parameters as an indented list, with types and shapes of the parameters. */
export function formatLayer(parameters: Tree): string {
  const named = treeFlatten(parameters);
  const count = [...new Set(named.map(([, x]) => x))].reduce((sum, { size }) => sum + size, 0);
  const lines = [`Layer with ${count.toLocaleString("en")} parameter${count === 1 ? "" : "s"}`];
  let before: readonly string[] = [];
  for (const [path, { dtype, shape }] of named) {
    const parts = path === "" ? [] : path.split(".");
    const outer = parts.slice(0, -1);
    const shared = outer.findIndex((name, i) => name !== before[i]);
    for (let i = shared < 0 ? outer.length : shared; i < outer.length; i++) lines.push(indented(i, outer[i]));
    lines.push(indented(outer.length, `${parts.at(-1) ?? ""} ${dtype} ${formatShape(shape)}`.trim()));
    before = outer;
  }
  return lines.join("\n");
}

const indented = (level: number, text: string) => "  ".repeat(level + 1) + text;
