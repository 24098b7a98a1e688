import type { DType } from "../device/dtype.ts";
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { alongBatch, applyToBatch } from "../tensor/batching.ts";
import { checkFunction } from "../tensor/checks.ts";
import { beneath, type Primitive, type TensorSpec, transforming } from "../tensor/primitive.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isKey, type Key, tensorOfKeys } from "../tensor/random.ts";
import { foldTree, rebuild, type Tree, treeMap } from "../tensor/tree.ts";
import { recordedWithin } from "./recorded_within.ts";
import { type OnSymbols, Transformation } from "./transformation.ts";

/**
 * Mapped axes of tensors in a tree: an axis for all of them, `null` for tensors that are not mapped, or an array or a plain object
 * with axes for each member. A negative axis counts from the end.
 */
export type MappedAxes = number | null | readonly MappedAxes[] | { readonly [name: string]: MappedAxes };

/** Options of {@linkcode vmap}. */
export interface VmapOptions {
  /**
   * The axis of the arguments that is mapped: for all arguments, or an array with an entry for each argument.
   * `null` passes an argument to every call as it is.
   *
   * @default {0}
   */
  inAxes?: MappedAxes;
  /**
   * The axis of the results along which the examples lie. `null` for results that are the same for all
   * examples.
   *
   * @default {0}
   */
  outAxes?: MappedAxes;
}

/** Keys of a batch of examples, or of batches of batches. */
export type KeyBatch = readonly (Key | KeyBatch)[];

/** Arguments of a mapped function: a key may be an array of keys, one for each example. */
export type WithKeyBatches<A extends readonly unknown[]> = {
  [I in keyof A]: readonly [number, number] extends A[I] ? A[I] | KeyBatch : A[I];
};

const optionNames = namesOf<VmapOptions>()("inAxes? outAxes?");

/**
 * Maps a function of one example over a batch of examples, as `jax.vmap`. The function runs once; each operation computes all
 * examples. Loops and solvers stay compiled, with the examples as a new first axis of their states.
 *
 * `vmap` composes with `grad`, `jvp` and `jit`. `vmap(grad(f))` computes a gradient for each example.
 *
 * @example
 * ```ts
 * import { grad, type Tensor, tensor, vmap } from "@weft/weft";
 *
 * const loss = (w: Tensor, x: Tensor) => w.mul(x).sum().square();
 * const perExample = vmap(grad(loss), { inAxes: [null, 0] });
 * console.log(perExample(tensor([1, 2]), tensor([[1, 0], [0, 1], [1, 1]]))); // [[2, 0], [0, 4], [6, 6]]
 * ```
 *
 * @example A random key for each example
 * ```ts
 * import { type Key, key, normal, splitKey, vmap } from "@weft/weft";
 *
 * const draws = vmap((key: Key) => normal(key, [2]))(splitKey(key(0), 3));
 * console.log(draws.shape); // [3, 2]: normal(splitKey(key(0), 3)[i], [2]) in row i
 * ```
 *
 * @param f Takes and returns tensors, or plain objects and arrays of them. Tensors that `f` closes over are the same for all
 * examples, and so are random numbers of a key that is not mapped. An array of keys is mapped over its keys. `f` cannot read
 * values of mapped tensors.
 * @returns A function of the arguments with the additional axis, whose results have the axis of `outAxes`.
 * @throws {ShapeError} If no argument is mapped, or the mapped axes differ in length.
 * @throws {Error} If `f` reads values, or has an operation that cannot be mapped: the message says why.
 */
export function vmap<A extends Tree[], T>(
  f: (...args: A) => T,
  options: VmapOptions = {},
): (...args: WithKeyBatches<A>) => T {
  checkFunction("vmap", "f", f);
  checkOptions("vmap", options, optionNames);
  const { inAxes = 0, outAxes = 0 } = options;
  return (...inputs) => {
    const args = inputs.map((arg, i) => withKeyTensors(arg, axesOf(inAxes, i))) as A;
    const size = sizeOfAxes(args, inAxes);
    const trace = new BatchTrace(size);
    const mapped = mapAxes(
      args,
      inAxes,
      "inAxes",
      (x, axis, path) =>
        axis === null ? x : trace.symbol([moveAxis(x, resolveAxis(axis, x.rank, x, path), 0)]),
    );
    const result = transforming(trace, () => f(...mapped));
    return mapAxes(result, outAxes, "outAxes", (x, axis, path) => {
      const isMapped = trace.partsOf(x) !== undefined;
      if (axis === null && isMapped) {
        throw new ShapeError(
          `vmap: the result${
            path && ` ${path}`
          } differs between examples, so its axis in outAxes cannot be null`,
        );
      }
      return axis === null ? x : moveAxis(trace.allParts(x)[0], 0, resolveAxis(axis, x.rank + 1, x, path));
    });
  };
}

const whyNoValues =
  "vmap: the values of a mapped tensor cannot be read inside the mapped function, which runs once for all examples; return " +
  "the tensor and read it outside";

/**
 * Evaluates each operation of the mapped function for all examples at once. In the function, a mapped tensor is a
 * symbol with the shape of one example. Its part, one tensor, has the examples along the first axis.
 */
export class BatchTrace extends Transformation {
  readonly partCount = 1;
  override readonly isBatch = true;
  constructor(readonly size: number) {
    super();
  }

  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor {
    const operands = inputs.map((x) => {
      const parts = this.partsOf(x);
      return { tensor: parts?.[0] ?? x, varies: parts !== undefined };
    });
    const fail = (reason: string) => new Error(`vmap: ${reason}; call the function for each example`);
    return beneath(this, () => {
      return this.symbol([applyToBatch(primitive, operands, this.size, params, spec, fail)]);
    });
  }

  again(): BatchTrace {
    return new BatchTrace(this.size);
  }

  symbol(parts: readonly Tensor[]): Tensor {
    const [{ shape, dtype }] = parts;
    return new Tensor(new Symbolic(this, { shape: shape.slice(1), dtype }, whyNoValues, parts));
  }

  allParts(x: Tensor): readonly Tensor[] {
    return this.partsOf(x) ?? [alongBatch({ tensor: x, varies: false }, this.size)];
  }

  applyFunction(inputs: readonly Tensor[], f: OnSymbols): readonly Tensor[] {
    return recordedWithin(this, inputs, f);
  }

  takes(_dtype: DType): boolean {
    return true;
  }

  stepsFirst(part: Tensor): Tensor {
    return moveAxis(part, 1, 0);
  }
}

/** Selects the axes of a member of a tree. One axis, or null, applies to every member. */
function axesOf(axes: MappedAxes, name: string | number): MappedAxes {
  return typeof axes === "object" && axes !== null
    ? (axes as Record<string, MappedAxes>)[name] ?? null
    : axes;
}

/** Stacks each mapped array of keys to a tensor with a key for each example. */
function withKeyTensors(tree: unknown, axes: MappedAxes): unknown {
  if (axes === null) return tree;
  if (typeof axes === "number") {
    const isBatch = (value: unknown) => !isKey(value) && tensorOfKeys(value) !== undefined;
    return foldTree<unknown>(tree, (value) => isBatch(value) ? tensorOfKeys(value) : value, rebuild, isBatch);
  }
  if (typeof tree !== "object" || tree === null || tree instanceof Tensor) return tree;
  const members = Object.entries(tree).map(([name, member]) => withKeyTensors(member, axesOf(axes, name)));
  return rebuild(tree, Object.keys(tree), members);
}

/**
 * Replaces the tensors of a tree. A single key among the arguments stays as it is: all examples share it.
 *
 * @param option `"inAxes"` or `"outAxes"`, for error messages.
 * @param replace Receives a tensor and its mapped axis, or null if it is not mapped.
 */
function mapAxes<T>(
  tree: T,
  axes: MappedAxes,
  option: string,
  replace: (x: Tensor, axis: number | null, path: string) => Tensor,
  path = "",
): T {
  if (axes === null || typeof axes === "number") {
    const pathOf = (name: string) => [path, name].filter(Boolean).join(".");
    return treeMap(tree, (x: Tensor, name) => isSharedKey(x, option) ? x : replace(x, axes, pathOf(name)));
  }
  const isLike = typeof axes === "object" && typeof tree === "object" && tree !== null &&
    !(tree instanceof Tensor) && Array.isArray(axes) === Array.isArray(tree) &&
    Object.keys(tree).every((name) => name in axes) && Object.keys(axes).every((name) => name in tree);
  if (!isLike) {
    throw new TypeError(
      `vmap: ${option}${path && ` of ${path}`} is ${
        describe(axes)
      }, expected an axis, null, or axes for each member`,
    );
  }
  const members = Object.entries(tree as object).map(([name, member]) => {
    const memberAxes = (axes as Record<string, MappedAxes>)[name];
    return [
      name,
      mapAxes(member, memberAxes, option, replace, path === "" ? name : `${path}.${name}`),
    ] as const;
  });
  return (Array.isArray(tree) ? members.map(([, member]) => member) : Object.fromEntries(members)) as T;
}

/** Whether a tensor is a single key among the arguments. An array of keys has the rank 2. */
function isSharedKey(x: Tensor, option: string): boolean {
  return option === "inAxes" && isKey(x) && x.rank === 1;
}

/** The number of examples: the length that all mapped axes share. */
function sizeOfAxes(args: readonly unknown[], axes: MappedAxes): number {
  const lengths = new Map<number, string>();
  mapAxes(args, axes, "inAxes", (x, axis, path) => {
    if (axis !== null) {
      const length = x.shape[resolveAxis(axis, x.rank, x, path)];
      if (!lengths.has(length)) lengths.set(length, path);
    }
    return x;
  });
  if (lengths.size === 1) return [...lengths.keys()][0];
  if (lengths.size === 0) {
    throw new ShapeError("vmap: no argument has a mapped tensor; vmap maps over at least one");
  }
  const actual = Array.from(lengths, ([length, path]) => `${length} (argument ${path})`).join(", ");
  throw new ShapeError(`vmap: the mapped axes have the lengths ${actual}, expected the same length`);
}

function resolveAxis(axis: number, rank: number, { shape }: Tensor, path: string): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (Number.isInteger(axis) && resolved >= 0 && resolved < rank) return resolved;
  throw new ShapeError(
    `vmap: axis ${axis} of ${path || "the result"} does not exist: its shape is ${formatShape(shape)}`,
  );
}

function moveAxis(x: Tensor, from: number, to: number): Tensor {
  if (from === to) return x;
  const axes = x.shape.map((_, axis) => axis).filter((axis) => axis !== from);
  return x.permute(axes.toSpliced(to, 0, from));
}
