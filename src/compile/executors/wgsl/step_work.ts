/** The work of each function of a step: lanes in use, serial iterations and reads. Figures for `explain`; no kernel depends on them. */
import { bytesPerElement } from "../../../device/dtype.ts";
import { formatShape, sizeOf } from "../../../device/shape.ts";
import { operationsOf } from "../../program/cost.ts";
import type { ChainWork, ReadFrom } from "../loop_layout.ts";
import type { Operand } from "../../program/program.ts";
import { type Chain, elementsOf, type Item } from "./chains.ts";
import { tileOf } from "./chain_functions.ts";
import type { GpuLayout } from "./gpu_layout.ts";
import { groupSize } from "./packed_weights.ts";

/** The work of each chain of a step. */
export function stepWork(layout: GpuLayout): ChainWork[] {
  return layout.chains.map((chain) => workOf(chain, layout));
}

/** Instructions for the address, the counter and the comparison of an iteration. */
const loopInstructions = 4;

function workOf(chain: Chain, layout: GpuLayout): ChainWork {
  const [head] = chain;
  const elements = elementsOf(head);
  const { outputs: width, samples, terms, termsAhead } = tileOf(head, layout);
  const invocations = layout.lanes * samples;
  const rounds = Math.ceil(elements / (width * invocations));
  const operations = chain.reduce((sum, item) => sum + operationsOfItem(item), 0);
  const inner = termsOf(head);
  const [ofHead, ...others] = readsOf(chain);
  const weights = chain.flatMap((item) =>
    item.kind === "contract" ? item.operands.slice(0, 2).filter(({ shared }) => shared !== undefined) : []
  );
  const perElement = chain.reduce((sum, item) => sum + item.operands.length + 1, 0) +
    (operations - operationsOfItem(head)) / elements;
  const perTerm = head.kind === "contract"
    ? (samples + width) / (layout.lanes === 1 ? 1 : groupSize) + width * samples
    : head.operands.length + operationsOfItem(head) / elements / inner;
  return {
    name: nameOf(head),
    operations,
    invocations: Math.min(invocations, Math.ceil(elements / width)) / samples,
    lanesBusy: elements / (rounds * width * invocations),
    iterations: rounds * inner,
    readsAhead: Math.min(termsAhead, inner),
    instructions: rounds * (inner * (perTerm + loopInstructions / terms) + width * samples * perElement),
    readsFrom: head.kind === "load" ? "rows" : slowestOf(ofHead, layout) ?? "workgroup memory",
    rounds,
    epilogueReadsFrom: slowestOf(others.flat(), layout),
    weightBytes: weights.reduce(
      (sum, matrix) => sum + sizeOfMatrix(matrix) * bytesPerElement(matrix.dtype),
      0,
    ),
    spilledBytes: spilledBytes(chain, layout),
  };
}

/** Elements of a matrix that the samples share. Axes with stride zero repeat it. */
function sizeOfMatrix({ shape, strides }: Operand): number {
  return sizeOf(shape.filter((_, axis) => strides[axis] !== 0));
}

function operationsOfItem(item: Item): number {
  return item.kind === "load" || item.kind === "store" ? 0 : operationsOf(item);
}

/** Terms of the sum that each element is. */
function termsOf(item: Item): number {
  if (item.kind === "contract") return item.operands[0].shape.at(-1)!;
  if (item.kind === "reduce") return item.axes.reduce((product, axis) => product * item.shape[axis], 1);
  return 1;
}

/** Operands that each item reads from memory. Values that the chain computed before are in registers. */
function readsOf(chain: Chain): Operand[][] {
  const written = new Set<number>();
  return chain.map(({ operands, output }) => {
    const reads = operands.filter(({ slot }) => slot === undefined || !written.has(slot));
    if (output) written.add(output.slot!);
    return reads;
  });
}

/** Bytes of spilled values that a chain reads and writes. */
function spilledBytes(chain: Chain, layout: GpuLayout): number {
  const accesses = [...readsOf(chain).flat(), ...chain.flatMap(({ output }) => output ?? [])];
  return accesses.filter((operand) => isSpilled(operand, layout)).reduce(
    (sum, operand) => sum + sizeOfMatrix(operand) * bytesPerElement(operand.dtype),
    0,
  );
}

function isSpilled({ slot }: Operand, { spilled }: GpuLayout): boolean {
  return slot !== undefined && spilled.offsets[slot] !== undefined;
}

/** The slowest memory of some reads. Undefined without reads. */
function slowestOf(reads: readonly Operand[], layout: GpuLayout): ReadFrom | undefined {
  if (reads.some((operand) => isSpilled(operand, layout))) return "spilled";
  const shared = reads.filter(({ shared }) => shared !== undefined);
  if (shared.some(({ shared }) => layout.inputAt[shared!]?.group.rows === "shared steps")) return "rows";
  if (shared.length > 0) return "weights";
  return reads.length > 0 ? "workgroup memory" : undefined;
}

function nameOf(item: Item): string {
  if (item.kind === "load" || item.kind === "store") return `${item.kind} of ${elementsOf(item)}`;
  const shapes = item.operands.slice(0, 2).map(({ shape }) => formatShape(shape));
  if (item.kind === "contract") return `product ${shapes.join(" @ ")}`;
  if (item.kind === "reduce") return `${item.reduction} of ${formatShape(item.shape)}`;
  return `${item.kind} ${formatShape(item.output.shape)}`;
}
