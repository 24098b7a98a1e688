import { isFloat } from "../device/dtype.ts";
import { hostSpan } from "../device/profiler.ts";
import type { Recorder } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";

interface Entry {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly pullback: Parameters<Recorder["record"]>[2];
}

/** The operations that lead from some tensors to others, in order, each with its gradient rule. */
export class Tape implements Recorder {
  readonly #entries: Entry[] = [];
  /** The tensors that gradients flow through. */
  readonly #tracked: Set<Tensor>;

  constructor(watched: Iterable<Tensor>) {
    this.#tracked = new Set(watched);
  }

  watches(x: Tensor): boolean {
    return this.#tracked.has(x);
  }

  reads(x: Tensor): boolean {
    const { source } = x.view;
    return this.#entries.some(({ inputs, outputs }) =>
      [...inputs, ...outputs].some(({ storage }) =>
        storage === x.storage ||
        "source" in storage && typeof source !== "number" && storage.source === source
      )
    );
  }

  record(inputs: readonly Tensor[], outputs: readonly Tensor[], pullback: Entry["pullback"]): void {
    if (!inputs.some((input) => this.#tracked.has(input))) return;
    for (const output of outputs) if (isFloat(output.dtype)) this.#tracked.add(output);
    this.#entries.push({ inputs, outputs, pullback });
  }

  /** Gradients of every tracked tensor that the outputs depend on, given those of the outputs. */
  pullback(outputs: readonly Tensor[], cotangents: readonly Tensor[]): Map<Tensor, Tensor> {
    return hostSpan("gradient rules, one after another", () => this.#pullback(outputs, cotangents));
  }

  #pullback(outputs: readonly Tensor[], cotangents: readonly Tensor[]): Map<Tensor, Tensor> {
    const gradients = new Map<Tensor, Tensor>();
    const accumulate = (x: Tensor, gradient: Tensor) =>
      gradients.set(x, gradients.get(x)?.add(gradient) ?? gradient);
    outputs.forEach((output, i) => this.#tracked.has(output) && accumulate(output, cotangents[i]));
    for (const { inputs, outputs, pullback } of this.#entries.toReversed()) {
      const arrived = outputs.map((output) => gradients.get(output));
      if (arrived.every((cotangent) => cotangent === undefined)) continue;
      const wanted = inputs.map((input) => this.#tracked.has(input));
      pullback(arrived, wanted).forEach((gradient, i) =>
        gradient && wanted[i] && accumulate(inputs[i], gradient)
      );
    }
    return gradients;
  }
}
