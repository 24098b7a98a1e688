/** Traces of bodies, cached for loops with the same body. */
import { LruCache } from "../../device/lru_cache.ts";
import { numberText } from "../../device/scalar/structure_text.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type ClosedOver, hasSameElements } from "../trace/graph.ts";
import { isShiftedByRow } from "./loop_carried.ts";
import type { Closure } from "./loop_options.ts";
import type { LoopBody, LoopStructure } from "./loop_structure.ts";

/** The trace of a body. `outputs` are the outputs of a step, as symbols. */
export interface TraceOfBody<Y = unknown> {
  readonly body: LoopBody;
  readonly closedOver: readonly ClosedOver[];
  readonly outputs: Y;
  /** Structures of the body, by whether matrix products of each sample stay in the loop. */
  readonly structures: Map<boolean, LoopStructure>;
}

/** A trace, and the positions of the tensors that it closes over. */
interface CachedTrace extends Omit<TraceOfBody, "closedOver"> {
  readonly constants: readonly (readonly [node: ClosedOver["node"], position: number])[];
}

/** Maximum number of cached traces. */
const maxTraces = 64;

const traces = new LruCache<string, { cached?: CachedTrace }>(maxTraces);

/** The trace of a body. @param inputs States and sequences of the loop. */
export function cachedTrace(
  { key, tensors }: Closure,
  inputs: readonly Tensor[],
  trace: () => TraceOfBody,
): TraceOfBody {
  const all = [...inputs, ...tensors];
  const specs = all.map(({ shape, dtype }) => `${dtype} ${shape}`).join(";");
  // The body has the number of a tensor of one number as a literal.
  const numbers = tensors.flatMap(({ storage }, i) =>
    !(storage instanceof Symbolic) && typeof storage.source === "number"
      ? [`${i} ${numberText(storage.source)}`]
      : []
  );
  const same = tensors.map((x) => tensors.findIndex((other) => other === x || hasSameElements(x, other)));
  const shifted = inputs.map((x) => inputs.flatMap((other, i) => isShiftedByRow(x, other) ? [i] : []));
  const text = `${key}\n${inputs.length} ${specs}\n${same}\n${numbers}\n${shifted.join(";")}`;
  const entry = traces.getOrMake(text, () => ({}));
  const { cached } = entry;
  if (cached) {
    const closedOver = cached.constants.map(([node, position]) => ({ node, tensor: tensors[position] }));
    return { ...cached, closedOver };
  }
  const { closedOver, ...traced } = trace();
  const constants = closedOver.map(({ node, tensor }) => [node, tensors.indexOf(tensor)] as const);
  // A body that makes tensors itself has other ones each time.
  if (constants.every(([, position]) => position >= 0)) {
    entry.cached = { ...traced, constants };
  }
  return { ...traced, closedOver };
}
