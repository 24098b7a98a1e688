import type { Tensor } from "./tensor.ts";

/** Records operations, as gradient tapes do. */
export interface Recorder {
  /** Whether gradients flow to a tensor. */
  watches(x: Tensor): boolean;
  /** Whether recorded operations read or wrote the memory of a tensor. */
  reads(x: Tensor): boolean;
  record(
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    /** Gradients with respect to the wanted inputs, from the gradients with respect to the outputs. */
    reverse: (
      cotangents: readonly (Tensor | undefined)[],
      wanted: readonly boolean[],
    ) => readonly (Tensor | undefined)[],
  ): void;
}
