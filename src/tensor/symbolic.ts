/** Tensors without values, which stand for what a compiled loop will compute. */
import type { View } from "../device/device.ts";

/** Stands for a value that a compiled loop will compute. */
export class Symbolic {
  constructor(
    /** The `Trace` that made the symbol. Its type needs tensors; see `traceOf`. */
    readonly trace: object,
    /** Shape and type of the value. */
    readonly spec: Pick<View, "shape" | "dtype">,
  ) {}
}

/** The error of a function that reads the values of a tensor while it is traced, when there are none. */
export class NoValuesError extends Error {
  override name = "NoValuesError";
}
