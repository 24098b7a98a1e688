/** Tensors without values, which stand for what a compiled loop will compute, and the watching of those with values. */
import type { View } from "../device/device.ts";
import type { Primitive, TensorSpec } from "./primitive.ts";
import type { Tensor } from "./tensor.ts";

/** Records operations on symbolic tensors instead of computing them. */
export interface Trace {
  /** Number of gradient tapes that were watching when the trace began. */
  readonly recorderDepth: number;
  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor;
  /** A symbol for a tensor from outside. */
  lift(x: Tensor): Tensor;
}

/** Stands for a value that a compiled loop will compute. */
export class Symbolic {
  constructor(readonly trace: Trace, readonly spec: TensorSpec) {}
}

/** The error of a function that reads the values of a tensor while it is traced, when there are none. */
export class NoValuesError extends Error {
  override name = "NoValuesError";
}

/** An observer of tensors that are made or read, and of memory that is assigned to. */
export interface TensorWatcher {
  made(x: Tensor): void;
  used(x: Tensor, storage: View | Symbolic): void;
  assigned(memory: View["source"]): void;
}

/** The present watcher. */
export let watcher: TensorWatcher | undefined;

/** Runs `body` with a watcher. */
export function watchTensors<T>(own: TensorWatcher, body: () => T): T {
  const before = watcher;
  watcher = own;
  try {
    return body();
  } finally {
    watcher = before;
  }
}
