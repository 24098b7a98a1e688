/**
 * The fusion of elementwise kernels, for programs, for hoisted operations and for kernels under `jit`: a value that only one
 * fused kernel reads is computed in that kernel instead of being stored. Each operation is rounded as before.
 */
import type { DType } from "../../../device/dtype.ts";
import { input, rewrite, type Scalar } from "../../../device/scalar/scalar.ts";
import { reshapeStrides, sameShape, type Shape, sizeOf } from "../../../device/shape.ts";
import { maxOperations, operationsOf } from "../expressions.ts";

/** A strided view of memory. Strides and offset count elements. */
export interface Strided {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** A kernel of a list that is fused. */
export interface FusionKernel<O extends Strided> {
  readonly operands: readonly O[];
  readonly output?: O;
  /** Elementwise expression of the operands. Undefined if the kernel is never fused. */
  readonly expression?: Scalar;
  /** Shape in which the expression reads its operands. */
  readonly shape: Shape;
  /**
   * Which kernels may compute the result instead of loading it. `none`: the result is not elementwise. `one`: a single fused
   * kernel, if nothing else reads the result. `all`: every elementwise reader, because computing is faster than loading.
   */
  readonly recompute: "none" | "one" | "all";
  /** Whether the result must be stored, because it is read after the kernels of the list. */
  readonly isStored: boolean;
}

/** Properties of memory, and limits of fused kernels. */
export interface FusionRules<O extends Strided> {
  /** Identifies the memory of an operand. */
  memoryOf(operand: O): unknown;
  /** Whether an operand is all of its memory, in row-major order. */
  isWhole(operand: O): boolean;
  /** Whether a kernel with these operands can run. */
  fits(operands: readonly O[]): boolean;
  /** Whether two kernels can run as one, apart from their operands. Default: yes. */
  isCompatible?(kernel: FusionKernel<O>, root: FusionKernel<O>): boolean;
  /** An operand in another shape. Default: {@linkcode reshaped}. */
  inShape?(operand: O, shape: Shape): O | undefined;
  /**
   * Whether a fused kernel can store its result in another shape: (32, 4) instead of (128), if it also computes the outer product
   * of a column and a row. Default: no.
   */
  readonly reshapesOutput?: boolean;
}

/** The expression, the operands and the output of a fused kernel. */
export interface FusedKernel<O extends Strided> {
  readonly expression: Scalar;
  readonly operands: readonly O[];
  readonly output: O;
}

/** Kernels that become one kernel. */
interface Group<O> {
  /** Position of the last kernel, whose result is stored. */
  readonly root: number;
  /** Positions of the kernels. */
  readonly members: number[];
  /** Shape in which the fused kernel reads its operands. */
  shape: Shape;
  /** Operands of the fused kernel, in its shape. */
  operands: readonly O[];
  /** In the shape of the fused kernel, unless that kernel reduces. */
  output: O;
  /** Scalar operations of the kernels before the root. */
  operations: number;
}

/**
 * Fuses elementwise kernels.
 *
 * @param kernels In the order in which they run.
 * @returns For each kernel the fused kernel that replaces it, `"unchanged"`, or `"fused"` if other kernels compute its result.
 */
export function fuseElementwise<O extends Strided>(
  kernels: readonly FusionKernel<O>[],
  rules: FusionRules<O>,
): (FusedKernel<O> | "unchanged" | "fused")[] {
  const { memoryOf, isWhole, fits, isCompatible = () => true, inShape = reshaped, reshapesOutput } = rules;
  const readers = positionsBy(kernels, ({ operands }) => operands, memoryOf);
  const writers = positionsBy(kernels, ({ output }) => output ? [output] : [], memoryOf);
  const groups = new Map<number, readonly Group<O>[]>();

  /** A group in another shape. */
  const inOtherShape = (group: Group<O>, shape: Shape): Group<O> | undefined => {
    if (sameShape(shape, group.shape)) return group;
    const output = inShape(group.output, shape);
    const operands = group.operands.map((operand) => inShape(operand, shape));
    const isElementwise = sameShape(group.output.shape, group.shape);
    if (!reshapesOutput || !isElementwise || !output || operands.includes(undefined)) return undefined;
    return { ...group, shape, output, operands: operands as O[] };
  };

  /** Adds a kernel to a group and returns true, if the fused kernel computes the same values and stays small. */
  const tryJoin = (position: number, group: Group<O>): boolean =>
    tryJoinInShape(position, group, group.shape) || tryJoinInShape(position, group, kernels[position].shape);

  const tryJoinInShape = (position: number, joined: Group<O>, shape: Shape): boolean => {
    const group = inOtherShape(joined, shape);
    if (!group) return false;
    const kernel = kernels[position];
    const root = kernels[group.root];
    const output = kernel.output!;
    const operations = group.operations + operationsOf(kernel.expression!);
    const isSmall = operations + operationsOf(root.expression!) <= maxOperations &&
      sizeOf(output.shape) === sizeOf(root.shape);
    if (!isSmall || !isCompatible(kernel, root)) return false;
    const memory = memoryOf(output);
    const isResult = (operand: O) => memoryOf(operand) === memory;
    const isOverwritten = (operand: O) =>
      writers.get(memoryOf(operand))?.some((writer) => writer > position && writer < group.root);
    const results = group.operands.filter(isResult);
    if (results.some((operand) => operand.dtype !== output.dtype || !isWhole(operand))) return false;
    const operands = group.operands.filter((operand) => !isResult(operand));
    for (const read of kernel.operands) {
      const operand = inShape(read, shape);
      if (!operand || isOverwritten(operand) || overlaps(operand, group.output, memoryOf)) return false;
      if (!operands.some((other) => isSame(other, operand, memoryOf))) operands.push(operand);
    }
    if (!fits(operands)) return false;
    joined.members.push(position);
    Object.assign(joined, { shape, operands, operations, output: group.output });
    return true;
  };

  // From the last kernel to the first: each kernel joins the groups of the kernels that read its result.
  for (let position = kernels.length - 1; position >= 0; position--) {
    const { operands, output, expression, shape, recompute, isStored } = kernels[position];
    if (!expression || !output) continue;
    const memory = memoryOf(output);
    const positions = readers.get(memory) ?? [];
    let mustBeStored = isStored || positions.length === 0 || positions.some((reader) => !groups.has(reader));
    const canJoin = recompute !== "none" && !(recompute === "one" && mustBeStored) && isWhole(output) &&
      writers.get(memory)!.length === 1;
    let joined: readonly Group<O>[] = [];
    if (canJoin) {
      const wanted = [...new Set(positions.flatMap((reader) => groups.get(reader) ?? []))];
      if (recompute === "all" || wanted.length === 1) {
        joined = wanted.filter((group) => tryJoin(position, group));
      }
      mustBeStored ||= joined.length < wanted.length;
    } else mustBeStored = true;
    const root: Group<O> = {
      root: position,
      members: [position],
      shape,
      output,
      operands: operands.map((operand) => inShape(operand, shape) ?? operand),
      operations: 0,
    };
    groups.set(position, mustBeStored ? [...joined, root] : joined);
  }

  return kernels.map((_, position) => {
    const list = groups.get(position);
    if (!list) return "unchanged";
    const group = list.find(({ root }) => root === position);
    if (!group) return "fused";
    return group.members.length === 1 ? "unchanged" : merge(kernels, group, memoryOf, inShape);
  });
}

/** Positions of the kernels that use each memory. */
function positionsBy<K, O>(
  kernels: readonly K[],
  operandsOf: (kernel: K) => readonly O[],
  memoryOf: (operand: O) => unknown,
): Map<unknown, number[]> {
  const positions = new Map<unknown, number[]>();
  kernels.forEach((kernel, position) => {
    for (const operand of operandsOf(kernel)) {
      const memory = memoryOf(operand);
      const others = positions.get(memory);
      if (others) others.push(position);
      else positions.set(memory, [position]);
    }
  });
  return positions;
}

/** Computes the expression and the operands of a group, in its shape. */
function merge<O extends Strided>(
  kernels: readonly FusionKernel<O>[],
  { root, members, shape, output }: Group<O>,
  memoryOf: (operand: O) => unknown,
  inShape: (operand: O, shape: Shape) => O | undefined,
): FusedKernel<O> {
  const operands: O[] = [];
  const inputs: Scalar[] = [];
  const results = new Map<unknown, Scalar>();
  for (const position of members.toSorted((a, b) => a - b)) {
    const kernel = kernels[position];
    const args = kernel.operands.map((read) => {
      const result = results.get(memoryOf(read));
      if (result) return result;
      const operand = inShape(read, shape) ?? read;
      const index = operands.findIndex((other) => isSame(other, operand, memoryOf));
      if (index >= 0) return inputs[index];
      const leaf = input(operands.push(operand) - 1, operand.dtype);
      inputs.push(leaf);
      return leaf;
    });
    const substitute = ({ op, value }: Scalar) => op === "input" ? args[value!] : undefined;
    results.set(memoryOf(kernel.output!), rewrite(kernel.expression!, substitute));
  }
  return { expression: results.get(memoryOf(kernels[root].output!))!, operands, output };
}

/** A view in another shape. Returns undefined if that needs a copy. */
export function reshaped<O extends Strided>(view: O, shape: Shape): O | undefined {
  if (sameShape(view.shape, shape)) return view;
  const strides = reshapeStrides(view.shape, view.strides, shape);
  return strides && { ...view, shape, strides };
}

/** Whether two operands of the same shape are the same elements. */
function isSame<O extends Strided>(a: O, b: O, memoryOf: (operand: O) => unknown): boolean {
  return Object.is(memoryOf(a), memoryOf(b)) && a.dtype === b.dtype && a.offset === b.offset &&
    sameShape(a.strides, b.strides);
}

/** Whether writing an output could change elements of an operand before they are read. */
function overlaps<O extends Strided>(operand: O, output: O, memoryOf: (operand: O) => unknown): boolean {
  return memoryOf(operand) === memoryOf(output) && !isSame(operand, output, memoryOf);
}
