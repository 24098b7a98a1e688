import { formatShape } from "../device/shape.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeFlatten } from "../tensor/tree.ts";

/** A layer, or a parameter with its tensor. */
interface Entry {
  /** Number of layers around it. */
  readonly level: number;
  readonly name: string;
  readonly tensor?: Tensor;
  /** Dotted path. */
  readonly path: string;
}

/** Layers and parameters, each layer before its parameters. */
export function entriesOf(named: readonly (readonly [path: string, x: Tensor])[]): Entry[] {
  const entries: Entry[] = [];
  let before: readonly string[] = [];
  for (const [path, tensor] of named) {
    const parts = path === "" ? [] : path.split(".");
    const outer = parts.slice(0, -1);
    const shared = outer.findIndex((name, i) => name !== before[i]);
    for (let level = shared < 0 ? outer.length : shared; level < outer.length; level++) {
      entries.push({ level, name: outer[level], path: outer.slice(0, level + 1).join(".") });
    }
    entries.push({ level: outer.length, name: parts.at(-1) ?? "", tensor, path });
    before = outer;
  }
  return entries;
}

/** Number of elements of tensors. A tensor with two names counts once. */
export function countOf(tensors: readonly Tensor[]): number {
  return [...new Set(tensors)].reduce((sum, { size }) => sum + size, 0);
}

/** Title of a layer by its number of parameters. */
export function layerTitle(count: number): string {
  return `Layer with ${count.toLocaleString("en")} parameter${count === 1 ? "" : "s"}`;
}

/** The names of a model's layers and parameters as an indented list, with types and shapes of the parameters. */
export function formatLayer(parameters: Tree): string {
  const named = treeFlatten(parameters);
  const lines = entriesOf(named).map(({ level, name, tensor }) =>
    "  ".repeat(level + 1) + (tensor ? `${name} ${tensor.dtype} ${formatShape(tensor.shape)}`.trim() : name)
  );
  return [layerTitle(countOf(named.map(([, x]) => x))), ...lines].join("\n");
}
