/** The reverse pass of backpropagation, over the operations of a tape or the nodes of a graph. */
import type { Tensor } from "../tensor/tensor.ts";
import type { PassMemory } from "./pass_memory.ts";

/** A recorded operation. `K` identifies values: tensors of a tape, nodes of a graph. */
export interface ReversibleOperation<K> {
  readonly inputs: readonly K[];
  readonly outputs: readonly K[];
  /** Cotangents of the wanted inputs, from those of the outputs. */
  readonly reverse: (
    cotangents: readonly (Tensor | undefined)[],
    wanted: readonly boolean[],
  ) => readonly (Tensor | undefined)[];
  /** Serial number of the first buffer that was made after the previous operation. */
  readonly firstBuffer?: number;
}

/**
 * Propagates cotangents from the results of operations to their inputs.
 *
 * @param operations Operations in the order of execution.
 * @param cotangents Cotangents of the results. The pass adds the cotangents of `wrt`, and of other values without an
 * operation, and removes all others.
 * @param isDifferentiated Whether a value depends on `wrt`.
 * @param wrt Values whose cotangents are kept. Each other cotangent is dropped after its last use.
 * @param memory Frees cotangents and values after their last use; without it nothing is freed.
 */
export function reversePass<K>(
  operations: readonly ReversibleOperation<K>[],
  cotangents: Map<K, Tensor>,
  isDifferentiated: (value: K) => boolean,
  wrt: ReadonlySet<K>,
  memory?: PassMemory,
): void {
  for (const cotangent of cotangents.values()) memory?.hold(cotangent);
  for (let at = operations.length - 1; at >= 0; at--) {
    const { inputs, outputs, reverse, firstBuffer = 0 } = operations[at];
    const arrived = outputs.map((output) => cotangents.get(output));
    const wanted = inputs.map(isDifferentiated);
    if (arrived.some((cotangent) => cotangent !== undefined) && wanted.includes(true)) {
      const rule = () => reverse(arrived, wanted);
      const inputCotangents = memory ? memory.scope(rule, wanted) : rule();
      inputCotangents.forEach((cotangent, i) => {
        if (!cotangent || !wanted[i]) return;
        const before = cotangents.get(inputs[i]);
        if (!before) return cotangents.set(inputs[i], cotangent);
        const sum = before.add(cotangent);
        cotangents.set(inputs[i], sum);
        memory?.hold(sum);
        memory?.drop(before);
        memory?.drop(cotangent);
      });
    }
    outputs.forEach((output, i) => {
      if (!arrived[i] || wrt.has(output)) return;
      cotangents.delete(output);
      memory?.drop(arrived[i]);
    });
    memory?.dropValues(firstBuffer);
  }
}
