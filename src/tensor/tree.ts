import { checkFunction } from "./checks.ts";
import { Tensor } from "./tensor.ts";

/**
 * Tensors in nested plain objects and arrays: the parameters of a model, the arguments of a function, its results. Values
 * that are neither tensors nor containers pass through untouched.
 */
export type Tree =
  | Tensor
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | readonly Tree[]
  | { readonly [name: string]: Tree };

/** Whether a value is a plain object, whose members belong to the structure. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** What a structure holds that is no container, tensors and others, with their dotted paths. */
export function entries(tree: unknown): [path: string, value: unknown][] {
  const found: [string, unknown][] = [];
  const visit = (node: unknown, path: string) => {
    if (!Array.isArray(node) && !isPlain(node)) return void found.push([path, node]);
    for (const [key, child] of Object.entries(node)) visit(child, path === "" ? key : `${path}.${key}`);
  };
  visit(tree, "");
  return found;
}

/** The tensors of a structure with their dotted paths, as in `layers.0.weight`; a lone tensor's path is empty. */
export function flatten(tree: unknown): [path: string, tensor: Tensor][] {
  return entries(tree).filter((entry): entry is [string, Tensor] => entry[1] instanceof Tensor);
}

/** The tensors of a structure, in the order of {@linkcode flatten}. */
export function leaves(tree: unknown): Tensor[] {
  return flatten(tree).map(([, tensor]) => tensor);
}

/** The same structure with every tensor replaced. */
export function mapTree<T>(tree: T, replace: (tensor: Tensor, path: string) => unknown): T {
  checkFunction("mapTree", "replace", replace);
  const visit = (node: unknown, path: string): unknown => {
    if (node instanceof Tensor) return replace(node, path);
    const below = (key: string | number) => path === "" ? `${key}` : `${path}.${key}`;
    if (Array.isArray(node)) return node.map((child, i) => visit(child, below(i)));
    if (isPlain(node)) {
      return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, visit(child, below(key))]));
    }
    return node;
  };
  return visit(tree, "") as T;
}

/** The same structure with other tensors, in the order of {@linkcode leaves}. */
export function withLeaves<T>(tree: T, tensors: readonly Tensor[]): T {
  let position = 0;
  return mapTree(tree, () => tensors[position++]);
}
