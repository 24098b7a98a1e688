import { checkFunction } from "./checks.ts";
import { Tensor } from "./tensor.ts";

/**
 * Tensors in nested plain objects and arrays: the parameters of a model, the arguments of a function, its results. Values
 * that are neither tensors nor containers stay unchanged. A type may be an `interface`.
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
  | { readonly [name: string]: Tree }
  // An `interface` has no index signature. Functions, collections, dates, promises and typed arrays are not trees.
  | object & {
    readonly call?: never;
    readonly then?: never;
    readonly getTime?: never;
    readonly byteLength?: never;
    readonly [Symbol.iterator]?: never;
  };

/** Whether a value is a plain object, and so a container of a tree. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** A container whose members are being visited. */
interface Level<T> {
  readonly container: object;
  readonly path: string;
  readonly names: readonly string[];
  /** Results of the visited members. */
  readonly results: T[];
}

/**
 * Folds a tree from the leaves to the root, without recursion, since trees may be deeper than the call stack.
 *
 * @param leaf Computes the result of a leaf from the value and its dotted path. Leaves are values that are not containers, and
 * containers that `isLeaf` accepts.
 * @param join Computes the result of a container from the names and results of its members.
 * @throws {TypeError} If a container contains itself.
 */
export function foldTree<T>(
  tree: unknown,
  leaf: (value: unknown, path: string) => T,
  join: (container: object, names: readonly string[], results: readonly T[]) => T,
  isLeaf: (value: unknown) => boolean = () => false,
): T {
  const isContainer = (value: unknown): value is object =>
    (Array.isArray(value) || isPlain(value)) && !isLeaf(value);
  if (!isContainer(tree)) return leaf(tree, "");
  const levelOf = (container: object, path: string): Level<T> => ({
    container,
    path,
    names: Object.keys(container),
    results: [],
  });
  const levels = [levelOf(tree, "")];
  const open = new Set<object>([tree]);
  for (;;) {
    const { container, path, names, results } = levels[levels.length - 1];
    if (results.length < names.length) {
      const name = names[results.length];
      const value: unknown = (container as Record<string, unknown>)[name];
      const own = path === "" ? name : `${path}.${name}`;
      if (!isContainer(value)) results.push(leaf(value, own));
      else if (open.has(value)) throw new TypeError(`a structure of tensors contains itself at ${own}`);
      else {
        open.add(value);
        levels.push(levelOf(value, own));
      }
      continue;
    }
    levels.pop();
    open.delete(container);
    const result = join(container, names, results);
    if (levels.length === 0) return result;
    levels[levels.length - 1].results.push(result);
  }
}

/** The leaves of a tree, tensors and other values, with their dotted paths. */
export function entries(tree: unknown): [path: string, value: unknown][] {
  const pairs: [string, unknown][] = [];
  foldTree(tree, (value, path) => void pairs.push([path, value]), () => undefined);
  return pairs;
}

/** The tensors of a tree with their dotted paths, such as `layers.0.weight`. The path of a single tensor is empty. */
export function treeFlatten(tree: unknown): [path: string, tensor: Tensor][] {
  return entries(tree).filter((entry): entry is [string, Tensor] => entry[1] instanceof Tensor);
}

/** The tensors of a tree, in the order of {@linkcode treeFlatten}. */
export function treeLeaves(tree: unknown): Tensor[] {
  const tensors: Tensor[] = [];
  foldTree(tree, (value) => void (value instanceof Tensor && tensors.push(value)), () => undefined);
  return tensors;
}

/** Replaces each tensor of a tree. */
export function treeMap<T>(tree: T, replace: (tensor: Tensor, path: string) => unknown): T {
  checkFunction("treeMap", "replace", replace);
  const leaf = (value: unknown, path: string) => value instanceof Tensor ? replace(value, path) : value;
  return foldTree<unknown>(tree, leaf, rebuild) as T;
}

/** A container of the same kind with other members. */
export function rebuild(like: object, names: readonly string[], members: readonly unknown[]): object {
  if (!Array.isArray(like)) return Object.fromEntries(names.map((name, i) => [name, members[i]]));
  const list = new Array<unknown>(like.length);
  // Indices, and other properties that an array may have.
  names.forEach((name, i) => list[name as unknown as number] = members[i]);
  return list;
}

/** The same tree with other tensors, in the order of {@linkcode treeLeaves}. */
export function withLeaves<T>(tree: T, tensors: readonly Tensor[]): T {
  let position = 0;
  return treeMap(tree, () => tensors[position++]);
}
