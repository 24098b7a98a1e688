/** The work of each function of a step: lanes in use, serial iterations and reads. Figures for `explain`; no kernel depends on them. */
import { bytesPerElement } from "../../../device/dtype.ts";
import { formatShape, sizeOf } from "../../../device/shape.ts";
import { operationsOf } from "../../program/cost.ts";
import type { ChainWork } from "../loop_layout.ts";
import type { Operand } from "../../program/program.ts";
import { type Chain, elementsOf, type Item } from "./chains.ts";
import { tileOf } from "./chain_functions.ts";
import type { GpuLayout } from "./gpu_layout.ts";

/** The work of each chain of a step. */
export function stepWork(layout: GpuLayout): ChainWork[] {
  return layout.chains.map((chain) => workOf(chain, layout));
}

/** Instructions for the address, the counter and the comparison of an iteration. */
const loopInstructions = 4;

function workOf(chain: Chain, layout: GpuLayout): ChainWork {
  const [head] = chain;
  const elements = elementsOf(head);
  const { outputs: width, samples, terms: readsAhead } = tileOf(head, layout);
  const invocations = layout.lanes * samples;
  const rounds = Math.ceil(elements / (width * invocations));
  const operations = chain.reduce((sum, item) => sum + operationsOfItem(item), 0);
  const inner = termsOf(head);
  const weights = chain.flatMap((item) =>
    item.kind === "contract" ? item.operands.slice(0, 2).filter(({ shared }) => shared !== undefined) : []
  );
  const perElement = chain.reduce((sum, item) => sum + item.operands.length + 1, 0) +
    (operations - operationsOfItem(head)) / elements;
  const perTerm = head.kind === "contract"
    ? samples + width + width * samples
    : head.operands.length + operationsOfItem(head) / elements / inner;
  return {
    name: nameOf(head),
    operations,
    invocations: Math.min(invocations, Math.ceil(elements / width)) / samples,
    lanesBusy: elements / (rounds * width * invocations),
    iterations: rounds * inner,
    readsAhead,
    instructions: rounds * (inner * (perTerm + loopInstructions / readsAhead) + width * samples * perElement),
    readsFrom: slowestRead(chain, layout),
    weightBytes: weights.reduce(
      (sum, matrix) => sum + sizeOfMatrix(matrix) * bytesPerElement(matrix.dtype),
      0,
    ),
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

function slowestRead(chain: Chain, { spilled, inputAt }: GpuLayout): ChainWork["readsFrom"] {
  const reads: readonly Operand[] = chain.flatMap(({ operands }) => operands);
  if (chain.some(({ kind }) => kind === "load")) return "rows";
  if (reads.some(({ slot }) => slot !== undefined && spilled.offsets[slot] !== undefined)) return "spilled";
  const shared = reads.filter(({ shared }) => shared !== undefined);
  if (shared.some(({ shared }) => inputAt[shared!]?.group.rows === "shared steps")) return "rows";
  return shared.length > 0 ? "weights" : "workgroup memory";
}

function nameOf(item: Item): string {
  if (item.kind === "load" || item.kind === "store") return `${item.kind} of ${elementsOf(item)}`;
  const shapes = item.operands.slice(0, 2).map(({ shape }) => formatShape(shape));
  if (item.kind === "contract") return `product ${shapes.join(" @ ")}`;
  if (item.kind === "reduce") return `${item.reduction} of ${formatShape(item.shape)}`;
  return `${item.kind} ${formatShape(item.output.shape)}`;
}
