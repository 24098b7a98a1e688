/**
 * Symbols: tensors whose operations a trace defines. The symbols of a loop's body are nodes of a graph, those of `jvp` have a
 * tangent, and those of `vmap` stand for an example of a batch.
 */
import type { View } from "../device/device.ts";

/** A tensor, as far as symbols need it. */
interface Stored {
  readonly storage: View | Symbolic;
  readonly view: View;
}

/** A value of a trace. */
export class Symbolic {
  /**
   * @param trace The `Trace` that made the symbol. Its type needs tensors; see `traceOf`.
   * @param spec Shape and type of the value.
   * @param whyNoValues Why the values cannot be read, for error messages.
   * @param parts The tensors that the symbol consists of, such as a value and its tangent; none for a node of a graph.
   * @param value Tensor with the values of the symbol, if it has values.
   */
  constructor(
    readonly trace: object,
    readonly spec: Pick<View, "shape" | "dtype">,
    readonly whyNoValues: string,
    readonly parts: readonly Stored[] = [],
    readonly value?: Stored,
  ) {}

  /**
   * The view of the values.
   *
   * @throws {NoValuesError} If there are none.
   */
  get view(): View {
    if (this.value) return this.value.view;
    throw new NoValuesError(this.whyNoValues);
  }

  /** Whether the values can be read. */
  get hasValues(): boolean {
    if (!this.value) return false;
    const { storage } = this.value;
    return !(storage instanceof Symbolic) || storage.hasValues;
  }
}

/** The error of a function that reads the values of a tensor while it is traced, when there are none. */
export class NoValuesError extends Error {
  override name = "NoValuesError";
}
