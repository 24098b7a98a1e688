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

  /** The same transformation, beginning now. */
  abstract again(): Transformation;

  /** A symbol of parts. */
  abstract symbol(parts: readonly Tensor[]): Tensor;

  /** The parts of any tensor, which the transformation makes for tensors from outside. */
  abstract allParts(x: Tensor): readonly Tensor[];

  /**
   * Whether the gradient of a transformed function is the transformed gradient of the function, part by part, as for a batch of
   * examples.
   */
  abstract readonly isParallel: boolean;

  /** Whether symbols may have a type. */
  abstract takes(dtype: DType): boolean;

  /** Moves the first axis of a tensor, the steps of a loop, to the front of one of its parts, and back. */
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
