/** Layout of a program on a GPU: invocations, workgroup memory and buffers. */
import type { DType } from "../../../device/dtype.ts";
import { sizeOf } from "../../../device/shape.ts";
import { type Layout, placeSlots } from "../../program/layout.ts";
import type { Lifetime } from "../../program/liveness.ts";
import type { AccumulateKernel, Program } from "../../program/program.ts";
import { type Group, makeGroup, makeGroups, type Member, type Place, type Word } from "./buffer_groups.ts";
import { type Chain, chainsOf, lifetimesInChains, phasesOf } from "./chains.ts";
import type { Adapter, WorkgroupShape } from "./choose_workgroup.ts";
import { addEarly } from "./early_sums.ts";
import { type Blocks, chooseBlock } from "./block_size.ts";
import { groupSize, type PackedMatrix, packedSize, packWeights, type SumOperand } from "./packed_weights.ts";
import { splitSums } from "./split_sums.ts";

/**
 * A weight gradient: the product of two matrices. Both have a row per step, sample and row of an operand, which the loop writes:
 * the product rows.
 */
interface WeightGradient {
  /** The first member of the product rows of the left matrix. The members of the right matrix follow. */
  readonly member: number;
  readonly count: number;
  /** Total rows of the left operands in a step of one sample. */
  readonly inner: number;
  readonly rows: number;
  readonly columns: number;
}

/** Layout of a program on a GPU. */
export interface GpuLayout extends Blocks {
  /** Words that a uniform binding holds. */
  readonly uniformWords: number;
  /** Chains that a step runs, in order. */
  readonly chains: readonly Chain[];
  /** Slots in workgroup memory. Slots that only one chain uses need no memory. */
  readonly local: Layout;
  /** Slots in a storage buffer. */
  readonly spilled: Layout;
  /** Type of a word of the slots. */
  readonly word: Word;
  /** States and sums, which a dispatch loads at its start and stores at its end. */
  readonly carry: Group;
  /**
   * Inputs besides the states: constants per sample; shared constants; shared rows; then rows per sample.
   */
  readonly inputs: readonly Group[];
  /** Outputs, followed by the terms of the step sums per sample. */
  readonly outputs: readonly Group[];
  /** The factors of the products that compute the weight gradients. */
  readonly productRows: Group;
  readonly weightGradients: readonly WeightGradient[];
  /** Places of the inputs. Undefined if an input is only read as a packed matrix. */
  readonly inputAt: readonly (Place | undefined)[];
  readonly packed: readonly PackedMatrix[];
  readonly packedAt: readonly Place[];
  readonly outputAt: readonly Place[];
}

/** Lays a program out on a GPU. */
export function layOutOnGpu(program: Program, workgroup: WorkgroupShape, adapter: Adapter): GpuLayout {
  const { limits } = adapter;
  const inputsOf = (role: string, isShared = false) =>
    program.inputs.flatMap((input, i) =>
      input.role === role && isShared === (input.slot === undefined) ? [i] : []
    );
  const members = (indices: readonly number[]) => indices.map((i) => program.inputs[i]);
  const isHardware = workgroup.lanes > 1;
  const { program: withPacked, matrices: packed } = isHardware
    ? packWeights(program)
    : { program, matrices: [] };
  const [own, rows] = [inputsOf("constant"), inputsOf("row")];
  const onlyPacked = inputsRead(program).difference(inputsRead(withPacked));
  const shared = inputsOf("constant", true).filter((i) => !onlyPacked.has(i));
  const sharedSteps = inputsOf("row", true);
  const sums = program.sums.map(({ slot }) => program.slots[slot]);
  const carry = makeGroup("carry", "read_write", "one", [...members(inputsOf("state")), ...sums]);
  const fixed = makeGroup("fixed", "read", "one", members(own));
  const constants = makeGroup(
    "constants",
    "read",
    "shared",
    [...members(shared), ...packed.map((matrix) => ({ size: packedSize(matrix), dtype: matrix.view.dtype }))],
    isHardware ? groupSize : 1,
  );
  const sharedRows = makeGroup("shared_rows", "read", "shared steps", members(sharedSteps));
  const { productRows, weightGradients, productRowsAt } = placeProductRows(program);

  const outputs = [...program.outputs, ...program.stepSums].map(({ shape, dtype }) => ({
    size: sizeOf(shape),
    dtype,
  }));
  // A buffer is reserved for spilled slots: whether any are spilled is known only after the chains.
  const taken = 3 +
    [own, constants.members, sharedSteps, weightGradients].filter(({ length }) => length > 0).length;
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
  const block = isHardware ? chooseBlock(program, workgroup.lanes) : 1;
  const split = isHardware ? splitSums(addEarly(withPacked), { ...workgroup, block }) : program;
  const chains = chainsOf(split, { inputAt, outputAt, productRowsAt });
  // A sample with one invocation needs no barriers.
  const phases = workgroup.lanes === 1 ? [] : phasesOf(chains);
  const capacity = limits.maxComputeWorkgroupStorageSize / 4 / workgroup.samples;
  return {
    ...workgroup,
    block,
    uniformWords: limits.maxUniformBufferBindingSize / 4,
    chains,
    ...placeWithin(capacity, split, lifetimesInChains(chains, split), phases, block),
    word: program.slots.some(({ dtype }) => dtype === "int32" || dtype === "uint32") ? "u32" : "f32",
    carry,
    inputs: [fixed, constants, sharedRows, ...rowGroups.groups],
    outputs: outputGroups.groups,
    productRows,
    weightGradients,
    inputAt,
    packed,
    packedAt: packed.map((_, i) => ({ group: constants, member: shared.length + i })),
    outputAt,
  };
}

/** The shared inputs that a program reads, without its packed weights. */
function inputsRead({ kernels, outputs, stepSums, next }: Program): Set<number> {
  const operands: SumOperand[] = [
    ...kernels.flatMap(({ operands }) => operands),
    ...outputs,
    ...stepSums,
    ...next,
  ];
  return new Set(operands.flatMap(({ shared, packed }) => shared === undefined || packed ? [] : [shared]));
}

/** Maximum number of slots that are tried in gaps of the workgroup memory. */
const maxAttempts = 16;

/** Assigns workgroup memory to as many slots as fit, smallest first, and spills the others. */
function placeWithin(
  capacity: number,
  { slots, kernels }: Program,
  lifetimes: ReadonlyMap<number, Lifetime>,
  phases: readonly number[],
  block: number,
): { local: Layout; spilled: Layout } {
  const order: (readonly [number, Lifetime])[] = [...lifetimes].sort(([a], [b]) =>
    slots[a].size - slots[b].size
  );
  const factors = new Set(
    kernels.flatMap(({ kind, operands }) =>
      kind === "contract" ? operands.slice(0, 2).map(({ slot }) => slot) : []
    ),
  );
  const place = (lifetimes: typeof order) => placeSlots(slots, lifetimes, block, (slot) => factors.has(slot));
  const none = place([]);
  // Without reuse within a phase, which would need a barrier, if the memory suffices. Pinned slots are live at all times.
  const phaseOf = (time: number) => phases[time] ?? time;
  const inPhases = order.map(([slot, { first, last }]) =>
    [slot, { first: phaseOf(first), last: phaseOf(last) }] as const
  );
  for (const lifetimes of [inPhases, order]) {
    const all = place(lifetimes);
    if (all.size <= capacity) return { local: all, spilled: none };
  }
  const isWithin = (chosen: typeof order) => place(chosen).size <= capacity;
  let [most, tooMany] = [0, order.length];
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (isWithin(order.slice(0, middle))) most = middle;
    else tooMany = middle;
  }
  // Some of the next slots fit into gaps.
  const near = order.slice(0, most);
  const far = order.slice(most + maxAttempts);
  for (const entry of order.slice(most, most + maxAttempts)) {
    if (isWithin([...near, entry])) near.push(entry);
    else far.push(entry);
  }
  return { local: place(near), spilled: place(far) };
}

/**
 * Lays out the buffers of the product rows: the two factors of each weight gradient. Returns the buffers, the weight gradients, and
 * where each accumulate kernel writes its two factors.
 */
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
    const left = kernels.map(({ operands: [a] }) => add(a));
    const right = kernels.map(({ operands: [, b] }) => add(b));
    kernels.forEach((kernel, i) => places.set(kernel, { a: left[i], b: right[i] }));
    const [a, b] = kernels[0].operands;
    const inner = kernels.reduce((sum, { operands: [a] }) => sum + a.shape[0], 0);
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
