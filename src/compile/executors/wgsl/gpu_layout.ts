/** Layout of a program on a GPU: its invocations, workgroup memory and buffers. */
import { largest } from "../../../device/min_max.ts";
import type { DType } from "../../../device/dtype.ts";
import { sizeOf } from "../../../device/shape.ts";
import { type Layout, type Life, placeSlots } from "../../program/layout.ts";
import type { AccumulateKernel, Kernel, Program } from "../../program/program.ts";
import { type Chain, chainsOf, livesIn } from "./chains.ts";

/** Properties of an adapter that decide how a program is laid out. */
export interface Adapter {
  /** Number of iterations that an invocation may take in loops in one dispatch. */
  readonly maxIterations: number;
  readonly limits: Pick<
    GPUSupportedLimits,
    | "maxStorageBuffersPerShaderStage"
    | "maxStorageBufferBindingSize"
    | "maxComputeWorkgroupsPerDimension"
    | "maxUniformBufferBindingSize"
    | "maxComputeWorkgroupStorageSize"
    | "maxComputeInvocationsPerWorkgroup"
  >;
}

/** Size of a workgroup. */
export interface WorkgroupShape {
  /** Samples of a workgroup. */
  readonly samples: number;
  /** Invocations of each sample. */
  readonly lanes: number;
}

/** Words of a buffer or of workgroup memory are declared as one of these. */
export type Word = "f32" | "u32";

/**
 * Arrays that lie one after another in one buffer: `(batch, size)`, or with a row a step, `(steps, batch, size)`; without the
 * batch where the samples share them. Product rows are kept until they are multiplied, for some of the steps and samples:
 * `(steps of a product, samples, size)`.
 */
export interface Group {
  readonly name: string;
  readonly word: Word;
  readonly access: "read" | "read_write";
  readonly rows: "one" | "steps" | "steps of a product" | "shared" | "shared steps";
  readonly members: readonly Member[];
}

/** An array of a {@linkcode Group}. */
export interface Member {
  /** Elements of a sample, or of all where they share it. */
  readonly size: number;
  readonly dtype: DType;
}

/** Position of an array in a group. */
export interface Place {
  readonly group: Group;
  /** Its position in the group. */
  readonly member: number;
}

/** A gradient of weights: the product of two matrices of product rows, with a row for each step, sample and row of an operand. */
export interface WeightGradient {
  /** The first member of the product rows that makes the left matrix; those of the right one follow. */
  readonly member: number;
  readonly count: number;
  /** Rows of an operand. */
  readonly inner: number;
  readonly rows: number;
  readonly columns: number;
}

/** Layout of a program on a GPU. */
export interface GpuLayout extends WorkgroupShape {
  /** Words that a uniform binding holds. */
  readonly uniformWords: number;
  /** Chains that a step runs, in order. */
  readonly chains: readonly Chain[];
  /** Slots in workgroup memory; what never leaves a chain is in none. */
  readonly local: Layout;
  /** Slots in a storage buffer. */
  readonly spilled: Layout;
  /** Type of a word of the slots. */
  readonly word: Word;
  /** States and sums: a dispatch begins with them and leaves them behind. */
  readonly carry: Group;
  /**
   * Inputs besides the states: constants of which each sample has its own; those that the samples share, the same in all steps or
   * a row a step; then rows of each sample.
   */
  readonly inputs: readonly Group[];
  /** The program's outputs, and behind those its sums of a step, for each sample. */
  readonly outputs: readonly Group[];
  /** The operands of the products that make the gradients of weights. */
  readonly productRows: Group;
  readonly weightGradients: readonly WeightGradient[];
  readonly inputAt: readonly (Place | undefined)[];
  readonly outputAt: readonly Place[];
}

/** Elements of some arrays, of one sample or shared. */
export function sizeOfAll(members: readonly Member[]): number {
  return members.reduce((sum, { size }) => sum + size, 0);
}

/** Invocations that work in lockstep on most GPUs, or two times as many as do. */
const lockstep = 64;

const maxInvocations = 256;

/** Workgroup on a processor that plays a GPU: its samples fill a vector register. */
const softwareWorkgroup: WorkgroupShape = { samples: 8, lanes: 1 };

/** Chooses the samples of a workgroup and the invocations that share each. */
export function chooseWorkgroup(
  program: Program,
  batch: number,
  { maxIterations, limits }: Adapter,
): WorkgroupShape {
  // A processor that plays a GPU pays for barriers, which samples of one invocation each do without.
  if (maxIterations < Infinity) return softwareWorkgroup;
  const widest = Math.max(1, largest(program.kernels.map(elementsOf)));
  const most = Math.min(maxInvocations, limits.maxComputeInvocationsPerWorkgroup);
  const lanes = Math.min(most, 2 ** Math.ceil(Math.log2(widest)));
  return { lanes, samples: Math.max(1, Math.min(lockstep / lanes, 2 ** Math.floor(Math.log2(batch)))) };
}

/** Ways to share the work that may be better than the chosen one: more and fewer samples, and invocations for each. */
export function otherWorkgroups(program: Program, batch: number, adapter: Adapter): WorkgroupShape[] {
  const chosen = chooseWorkgroup(program, batch, adapter);
  const most = adapter.limits.maxComputeInvocationsPerWorkgroup;
  return [[1, 0.5], [1, 2], [2, 1], [2, 0.5], [4, 0.25], [1, 0.25]]
    .map(([more, longer]) => ({ samples: chosen.samples * more, lanes: chosen.lanes * longer }))
    .filter(({ samples, lanes }) =>
      lanes >= 1 && samples * lanes <= most && samples <= Math.max(batch, chosen.samples)
    );
}

/** Elements that a kernel computes. */
function elementsOf(kernel: Kernel): number {
  return kernel.kind === "accumulate" ? 1 : sizeOf(kernel.output.shape);
}

/** Lays a program out on a GPU. */
export function layOutOnGpu(program: Program, workgroup: WorkgroupShape, adapter: Adapter): GpuLayout {
  const { limits } = adapter;
  const inputsOf = (role: string, isShared = false) =>
    program.inputs.flatMap((input, i) =>
      input.role === role && isShared === (input.slot === undefined) ? [i] : []
    );
  const members = (indices: readonly number[]) => indices.map((i) => program.inputs[i]);
  const [own, rows] = [inputsOf("constant"), inputsOf("row")];
  const [shared, sharedSteps] = [inputsOf("constant", true), inputsOf("row", true)];
  const sums = program.sums.map(({ slot }) => program.slots[slot]);
  const carry = makeGroup("carry", "read_write", "one", [...members(inputsOf("state")), ...sums]);
  const fixed = makeGroup("fixed", "read", "one", members(own));
  const constants = makeGroup("constants", "read", "shared", members(shared));
  const sharedRows = makeGroup("shared_rows", "read", "shared steps", members(sharedSteps));
  const { productRows, weightGradients, productRowsAt } = placeProductRows(program);

  const outputs = [...program.outputs, ...program.stepSums].map(({ shape, dtype }) => ({
    size: sizeOf(shape),
    dtype,
  }));
  // Spilled slots may need a buffer; whether they do is only known when all chains are.
  const taken = 3 +
    [own, shared, sharedSteps, weightGradients].filter(({ length }) => length > 0).length;
  const free = limits.maxStorageBuffersPerShaderStage - taken;
  const forOutputs = Math.min(outputs.length, Math.max(1, free - rows.length));
  const rowGroups = makeGroups("rows", "read", members(rows), free - forOutputs);
  const outputGroups = makeGroups("outputs", "read_write", outputs, forOutputs);
  const inputAt: (Place | undefined)[] = program.inputs.map(() => undefined);
  for (const [group, indices] of [[fixed, own], [constants, shared], [sharedRows, sharedSteps]] as const) {
    indices.forEach((i, member) => inputAt[i] = { group, member });
  }
  rows.forEach((i, row) => inputAt[i] = rowGroups.places[row]);
  const outputAt = outputGroups.places;
  const chains = chainsOf(program, { inputAt, outputAt, productRowsAt });
  const capacity = limits.maxComputeWorkgroupStorageSize / 4 / workgroup.samples;
  return {
    ...workgroup,
    uniformWords: limits.maxUniformBufferBindingSize / 4,
    chains,
    ...placeWithin(capacity, program, livesIn(chains, program)),
    word: program.slots.some(({ dtype }) => dtype === "int32" || dtype === "uint32") ? "u32" : "f32",
    carry,
    inputs: [fixed, constants, sharedRows, ...rowGroups.groups],
    outputs: outputGroups.groups,
    productRows,
    weightGradients,
    inputAt,
    outputAt,
  };
}

function makeGroup(
  name: string,
  access: Group["access"],
  rows: Group["rows"],
  members: readonly Member[],
): Group {
  return {
    name,
    access,
    rows,
    word: wordFor(members),
    members: members.map(({ size, dtype }) => ({ size, dtype })),
  };
}

/** Floats are kept as such, and anything beside them as bits. */
function wordFor(members: readonly { dtype: DType }[]): Word {
  return members.some(({ dtype }) => dtype !== "float32") ? "u32" : "f32";
}

/** Distributes arrays over at most so many buffers: the largest have one to themselves. */
function makeGroups(
  name: string,
  access: Group["access"],
  members: readonly Member[],
  most: number,
): { groups: Group[]; places: Place[] } {
  const order = members.map((_, i) => i).sort((i, j) => members[j].size - members[i].size);
  const alone = members.length <= most ? members.length : Math.max(0, most - 1);
  const rest = order.slice(alone);
  const parts = [...order.slice(0, alone).map((i) => [i]), ...rest.length > 0 ? [rest] : []];
  const groups = parts.map((part, i) =>
    makeGroup(`${name}${i}`, access, "steps", part.map((member) => members[member]))
  );
  const places = members.map((_, i) => {
    const part = parts.findIndex((part) => part.includes(i));
    return { group: groups[part], member: parts[part].indexOf(i) };
  });
  return { groups, places };
}

/** Keeps as many slots in workgroup memory as it holds, small ones first, and spills the others. */
function placeWithin(
  capacity: number,
  { slots }: Program,
  lives: ReadonlyMap<number, Life>,
): { local: Layout; spilled: Layout } {
  const order = [...lives].sort(([a], [b]) => slots[a].size - slots[b].size);
  const all = placeSlots(slots, order);
  const none = placeSlots(slots, []);
  if (all.size <= capacity) return { local: all, spilled: none };
  const fits = (count: number) => placeSlots(slots, order.slice(0, count)).size <= capacity;
  let [most, tooMany] = [0, order.length];
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (fits(middle)) most = middle;
    else tooMany = middle;
  }
  return { local: placeSlots(slots, order.slice(0, most)), spilled: placeSlots(slots, order.slice(most)) };
}

/** Lays out the product rows, with the places of both operands of each accumulating kernel. */
function placeProductRows(
  program: Program,
): Pick<GpuLayout, "productRows" | "weightGradients"> & {
  productRowsAt: Map<AccumulateKernel, { a: Place; b: Place }>;
} {
  const members: Member[] = [];
  const places = new Map<AccumulateKernel, { a: number; b: number }>();
  const weightGradients = program.weightGradients.map((_, gradient): WeightGradient => {
    const kernels = program.kernels.filter((kernel): kernel is AccumulateKernel =>
      kernel.kind === "accumulate" && kernel.gradient === gradient
    );
    const member = members.length;
    const add = ({ shape, dtype }: { shape: readonly number[]; dtype: DType }) =>
      members.push({ size: sizeOf(shape), dtype }) - 1;
    const left = kernels.map(({ a }) => add(a));
    const right = kernels.map(({ b }) => add(b));
    kernels.forEach((kernel, i) => places.set(kernel, { a: left[i], b: right[i] }));
    const [{ a, b }] = kernels;
    const inner = kernels.reduce((sum, { a }) => sum + a.shape[0], 0);
    return { member, count: kernels.length, inner, rows: a.shape[1], columns: b.shape[1] };
  });
  const productRows = makeGroup("product_rows", "read_write", "steps of a product", members);
  const productRowsAt = new Map(
    [...places].map(([kernel, { a, b }]) => [
      kernel,
      { a: { group: productRows, member: a }, b: { group: productRows, member: b } },
    ]),
  );
  return { productRows, weightGradients, productRowsAt };
}
