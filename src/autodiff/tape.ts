import { nextSerial } from "../device/memory/buffer.ts";
import { isFloat } from "../device/dtype.ts";
import { hostSpan } from "../device/profiler.ts";
import type { Recorder } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { PassMemory } from "./pass_memory.ts";
import { reversePass, type ReversibleOperation } from "./reverse_pass.ts";

/** Records the operations that depend on watched tensors, in order, with their gradient rules. */
export class Tape implements Recorder {
  readonly #operations: ReversibleOperation<Tensor>[] = [];
  readonly #watched: ReadonlySet<Tensor>;
  /** Watched tensors and the tensors that depend on them. */
  readonly #tracked: Set<Tensor>;
  /** Serial number of the first buffer that was made after the last recorded operation. */
  #firstBuffer = nextSerial();

  constructor(watched: Iterable<Tensor>) {
    this.#watched = new Set(watched);
    this.#tracked = new Set(this.#watched);
  }

  watches(x: Tensor): boolean {
    return this.#tracked.has(x);
  }

  reads(x: Tensor): boolean {
    const { source } = x.view;
    return this.#operations.some(({ inputs, outputs }) =>
      [...inputs, ...outputs].some(({ storage }) =>
        storage === x.storage ||
        "source" in storage && typeof source !== "number" && storage.source === source
      )
    );
  }

  record(
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    reverse: ReversibleOperation<Tensor>["reverse"],
  ): void {
    if (!inputs.some((input) => this.#tracked.has(input))) return;
    for (const output of outputs) if (isFloat(output.dtype)) this.#tracked.add(output);
    this.#operations.push({ inputs, outputs, reverse, firstBuffer: this.#firstBuffer });
    this.#firstBuffer = nextSerial();
  }

  /**
   * Gradients of the watched tensors that the outputs depend on, given the cotangents of the outputs.
   *
   * @param memory Frees cotangents and values of the forward pass after their last use.
   */
  pullback(
    outputs: readonly Tensor[],
    cotangents: readonly (Tensor | undefined)[],
    memory?: PassMemory,
  ): Map<Tensor, Tensor> {
    const gradients = new Map<Tensor, Tensor>();
    outputs.forEach((output, i) => {
      const cotangent = cotangents[i];
      if (!cotangent || !this.#tracked.has(output)) return;
      gradients.set(output, gradients.get(output)?.add(cotangent) ?? cotangent);
    });
    hostSpan(
      "gradient rules, operation by operation",
      () => reversePass(this.#operations, gradients, (x) => this.#tracked.has(x), this.#watched, memory),
    );
    return gradients;
  }
}
