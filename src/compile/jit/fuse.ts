/** Fuses elementwise kernels: values that only elementwise kernels read are computed where they are read. */
import type { Buffer, BufferView, Device, View } from "../../device/device.ts";
import type { DeferredKernel, Fuse } from "../../device/deferred.ts";
import type { Scalar, ScalarFunction } from "../../device/scalar.ts";
import { isContiguous, reshapeStrides, sameShape, sizeOf } from "../../device/shape.ts";
import { numberView } from "../../device/view.ts";
import { maxOperations, operationsOf } from "../program/expression_size.ts";

/** Most arrays that a fused kernel reads. With the result, every WebGPU adapter can bind this many buffers. */
const maxArrays = 6;
/** Most arrays and numbers that a fused kernel reads. */
const maxOperands = 18;

interface MapKernel extends DeferredKernel {
  readonly fn: ScalarFunction;
}

/** Elementwise kernels that become one kernel. */
interface Group {
  /** The last kernel: its result is stored. */
  readonly root: MapKernel;
  /** Position of the last kernel. */
  readonly end: number;
  /** Positions of the kernels, by the buffer of their results. */
  readonly members: Map<Buffer, number>;
  /** Scalar operations. */
  operations: number;
}

/**
 * Fuses trees of elementwise kernels and drops kernels without readers. A value joins the kernel that reads it if nothing else
 * reads it, so that no value is computed twice. Each operation is rounded as before.
 */
export const fuse: Fuse = (device, kernels, isReleased) => {
  const needed = neededOf(kernels, isReleased);
  const { readers, writers } = usesOf(kernels, needed);
  const groups = new Map<number, Group>();
  for (let i = kernels.length - 1; i >= 0; i--) {
    const kernel = kernels[i];
    if (!needed[i] || !isMap(kernel)) continue;
    const group = groupOfReaders(kernel, readers, groups);
    if (
      group && isReleased(kernel.output.source) && isWhole(kernel.output) &&
      writers.get(kernel.output.source)!.length === 1 && joins(kernel, i, group, kernels, writers)
    ) {
      groups.set(i, group);
    } else {
      const members = new Map([[kernel.output.source, i]]);
      groups.set(i, { root: kernel, end: i, members, operations: sizeOfFunction(kernel) });
    }
  }
  return kernels.flatMap((kernel, i) => {
    if (!needed[i]) return [];
    const group = groups.get(i);
    if (!group || group.members.size === 1) return [kernel];
    return group.end === i ? [fusedKernel(device, group, kernels)] : [];
  });
};

function isMap(kernel: DeferredKernel): kernel is MapKernel {
  return kernel.fn !== undefined;
}

/** Whether each kernel writes what another kernel, or anything later, reads. */
function neededOf(kernels: readonly DeferredKernel[], isReleased: (buffer: Buffer) => boolean): boolean[] {
  const read = new Set<Buffer>();
  const needed = kernels.map(() => false);
  for (let i = kernels.length - 1; i >= 0; i--) {
    const { inputs, output: { source: target } } = kernels[i];
    if (isReleased(target) && !read.has(target)) continue;
    needed[i] = true;
    for (const { source } of inputs) if (typeof source !== "number") read.add(source);
  }
  return needed;
}

/** Positions of the kernels that read and write each buffer. */
function usesOf(kernels: readonly DeferredKernel[], needed: readonly boolean[]) {
  const readers = new Map<Buffer, number[]>();
  const writers = new Map<Buffer, number[]>();
  const add = (uses: Map<Buffer, number[]>, { source }: View, i: number) => {
    if (typeof source === "number") return;
    const list = uses.get(source);
    if (list) list.push(i);
    else uses.set(source, [i]);
  };
  kernels.forEach(({ inputs, output }, i) => {
    if (!needed[i]) return;
    for (const input of inputs) add(readers, input, i);
    add(writers, output, i);
  });
  return { readers, writers };
}

/** The group with all readers of a kernel's result. Returns undefined if the readers belong to several groups or none. */
function groupOfReaders(
  { output }: MapKernel,
  readers: ReadonlyMap<Buffer, readonly number[]>,
  groups: ReadonlyMap<number, Group>,
): Group | undefined {
  const [first, ...others] = new Set(readers.get(output.source)?.map((reader) => groups.get(reader)));
  return others.length === 0 ? first : undefined;
}

/** Whether a view is all of its buffer, in row-major order. */
function isWhole({ source, dtype, shape, strides, offset }: View): boolean {
  return typeof source !== "number" && offset === 0 && isContiguous(shape, strides) &&
    sizeOf(shape) * (dtype === "float64" ? 8 : 4) === source.byteLength;
}

/** Adds a kernel to a group, if the fused kernel computes the same and stays small. */
function joins(
  kernel: MapKernel,
  position: number,
  group: Group,
  kernels: readonly DeferredKernel[],
  writers: ReadonlyMap<Buffer, readonly number[]>,
): boolean {
  const { root, end, members } = group;
  const target = kernel.output.source;
  const operations = group.operations + sizeOfFunction(kernel);
  if (operations > maxOperations || mixesWidths(kernel) || mixesWidths(root)) return false;
  if ((kernel.output.dtype === "float64") !== (widthOf(root) === "float64")) {
    if (kernel.output.dtype !== "bool" || widthOf(kernel) !== widthOf(root)) return false;
  }
  if (sizeOf(kernel.output.shape) !== sizeOf(root.output.shape)) return false;
  for (const member of members.values()) {
    for (const input of kernels[member].inputs) if (input.source === target && !isWhole(input)) return false;
  }
  members.set(target, position);
  const leaves = leavesOf(group, kernels);
  // An array must not be overwritten between the place of the kernel and that of the group.
  const isOverwritten = ({ source }: View) =>
    typeof source !== "number" && writers.get(source)?.some((i) => i > position && i < end);
  const fits = leaves !== undefined && leaves.length <= maxOperands &&
    leaves.filter(({ source }) => typeof source !== "number").length <= maxArrays &&
    !leaves.some((leaf) => isOverwritten(leaf) || overlaps(leaf, root.output));
  if (fits) group.operations = operations;
  else members.delete(target);
  return fits;
}

/** Whether writing an output could change elements of an operand before they are read. */
function overlaps(leaf: View, output: BufferView): boolean {
  return leaf.source === output.source && !(leaf.offset === output.offset && leaf.dtype === output.dtype &&
    sameShape(leaf.strides, output.strides));
}

/** The type that decides the width of a kernel's lanes. */
function widthOf({ inputs, output }: DeferredKernel): "float64" | "32 bits" {
  return [...inputs, output].some(({ dtype }) => dtype === "float64") ? "float64" : "32 bits";
}

/** Whether a kernel computes in both 64 and 32 bits, which V8 compiles slowly in large expressions. */
function mixesWidths(kernel: DeferredKernel): boolean {
  return widthOf(kernel) === "float64" &&
    [...kernel.inputs, kernel.output].some(({ dtype }) => dtype !== "float64" && dtype !== "bool");
}

function sizeOfFunction({ fn, inputs }: MapKernel): number {
  return operationsOf(fn, inputs.map(({ dtype }) => dtype));
}

/** An operand as a view of the shape of a group's result. Returns undefined if that takes a copy. */
function inShapeOf({ output: { shape } }: MapKernel, view: View): View | undefined {
  if (typeof view.source === "number") return numberView(view.source, shape, view.dtype);
  if (sameShape(view.shape, shape)) return view;
  const strides = reshapeStrides(view.shape, view.strides, shape);
  return strides && { ...view, shape, strides };
}

/** Whether two operands are the same elements. */
function isSame(a: View, b: View): boolean {
  return Object.is(a.source, b.source) && a.dtype === b.dtype && a.offset === b.offset &&
    sameShape(a.strides, b.strides);
}

/** Operands of a fused kernel, each once. Returns undefined if one of them cannot be read in the shape of the result. */
function leavesOf({ root, members }: Group, kernels: readonly DeferredKernel[]): View[] | undefined {
  const leaves: View[] = [];
  for (const member of [...members.values()].sort((a, b) => a - b)) {
    for (const input of kernels[member].inputs) {
      // An assignment may read the array that it writes.
      if (isInside(input, member, members)) continue;
      const leaf = inShapeOf(root, input);
      if (!leaf) return undefined;
      if (!leaves.some((other) => isSame(other, leaf))) leaves.push(leaf);
    }
  }
  return leaves;
}

/** Whether another kernel of a group, before a reader, computes what the reader reads. */
function isInside({ source }: View, reader: number, members: ReadonlyMap<Buffer, number>): boolean {
  const producer = typeof source === "number" ? undefined : members.get(source);
  return producer !== undefined && producer < reader;
}

function fusedKernel(device: Device, group: Group, kernels: readonly DeferredKernel[]): DeferredKernel {
  const { root, members } = group;
  const inputs = leavesOf(group, kernels)!;
  const positions = [...members.values()].sort((a, b) => a - b);
  const valueAt = new Map(positions.map((position, i) => [kernels[position].output.source, i]));
  /** For each member, its function, and where its operands come from: another member, or an operand of the group. */
  const parts = positions.map((position) => {
    const { fn, inputs: own } = kernels[position] as MapKernel;
    const operands = own.map((input) => {
      if (isInside(input, position, members)) return { value: valueAt.get(input.source as Buffer)! };
      const leaf = inShapeOf(root, input)!;
      return { leaf: inputs.findIndex((other) => isSame(other, leaf)) };
    });
    return { fn, operands };
  });
  const fn: ScalarFunction = {
    name: parts.map(({ fn, operands }) =>
      `${fn.name}(${operands.map(({ value, leaf }) => value === undefined ? `#${leaf}` : `$${value}`)})`
    ).join("; "),
    build: (...leaves) => {
      const values: Scalar[] = [];
      for (const { fn, operands } of parts) {
        values.push(
          fn.build(...operands.map(({ value, leaf }) => value === undefined ? leaves[leaf!] : values[value])),
        );
      }
      return values.at(-1)!;
    },
  };
  return { fn, inputs, output: root.output, run: () => device.map(fn, inputs, root.output) };
}
