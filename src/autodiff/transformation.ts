import {
  nextLevel,
  type Primitive,
  type RecordingState,
  recordingState,
  type TensorSpec,
  type Trace,
} from "../tensor/primitive.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { DType } from "../device/dtype.ts";

/** A function of tensors, some of them symbols of the transformation. The function must not close over such symbols. */
export type OnSymbols = (trace: Transformation, inputs: readonly Tensor[]) => readonly Tensor[];

/**
 * A trace that computes while the function runs, such as that of `jvp` or `vmap`. Each of its symbols consists of parts, which
 * are tensors.
 */
export abstract class Transformation implements Trace {
  readonly level: number = nextLevel();
  readonly outer: RecordingState = recordingState();

  abstract apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor;

  /** Number of parts of a symbol. */
  abstract readonly partCount: number;

  /** Begins a new trace of the same transformation. */
  abstract again(): Transformation;

  /** Makes a symbol that consists of `parts`. */
  abstract symbol(parts: readonly Tensor[]): Tensor;

  /** The parts of a symbol. For other tensors, makes the parts: a tangent of zero, or the tensor broadcast over the examples. */
  abstract allParts(x: Tensor): readonly Tensor[];

  /**
   * Applies a function that computes on the parts of symbols. Gradient tapes inside the transformation cannot record such operations,
   * so they record the function as one operation.
   *
   * @returns `undefined` if a tape inside the transformation is watching and the transformation does not commute with `grad`.
   */
  abstract applyFunction(inputs: readonly Tensor[], f: OnSymbols): readonly Tensor[] | undefined;

  /** Whether the symbols are batches of examples. */
  readonly isBatch: boolean = false;

  /** Whether the transformation makes symbols of a type. Tangents, for example, are only floats. */
  abstract takes(dtype: DType): boolean;

  /**
   * Exchanges the axes of examples and loop steps of a part, so that the steps are the first axis; a second call undoes the
   * exchange. A part without an axis of examples stays unchanged.
   */
  abstract stepsFirst(part: Tensor): Tensor;

  lift(x: Tensor): Tensor {
    return x;
  }

  /** The parts of a symbol of this transformation; `undefined` for other tensors. */
  partsOf({ storage }: Tensor): readonly Tensor[] | undefined {
    return storage instanceof Symbolic && storage.trace === this
      ? storage.parts as readonly Tensor[]
      : undefined;
  }
}
