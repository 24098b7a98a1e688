/**
 * Symbols: tensors whose operations a trace applies. A symbol in the body of a compiled loop is a node of a graph, a symbol of `jvp`
 * is a value with a tangent, and a symbol of `vmap` is an example of a batch.
 */
import type { View } from "../device/device.ts";

/** The members of a tensor that symbols read. */
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
   * @throws {NoValuesError} If the symbol has no values.
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

/** A traced function reads values of a symbol without values. */
export class NoValuesError extends Error {
  override name = "NoValuesError";
}
