/** Forward-mode differentiation: tensors with a tangent, and the tangents of primitives. */
import { type DType, isFloat } from "../device/dtype.ts";
import {
  apply,
  beneath,
  isRecordingWithin,
  type Primitive,
  recordWith,
  reverseOf,
} from "../tensor/primitive.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";
import { Tape } from "./tape.ts";
import { type OnSymbols, Transformation } from "./transformation.ts";

/** Computes tangents along with values. A symbol is a value with a tangent; other tensors have a tangent of zero. */
export class TangentTrace extends Transformation {
  readonly differentiates = true;
  readonly partCount = 2;

  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P): Tensor {
    const values = inputs.map((x) => this.partsOf(x)?.[0] ?? x);
    const tangents = inputs.map((x) => this.partsOf(x)?.[1]);
    return beneath(this, () => {
      const output = apply(primitive, values, params);
      const tangent = tangentOf(primitive, values, tangents, output, params);
      return tangent ? this.symbol([output, tangent]) : output;
    });
  }

  again(): TangentTrace {
    return new TangentTrace();
  }

  /** A value with its tangent, which has the same shape and type. */
  symbol(parts: readonly Tensor[]): Tensor {
    const [value] = parts;
    return new Tensor(
      new Symbolic(
        this,
        { shape: value.shape, dtype: value.dtype },
        "jvp: the tensor is a symbol without values",
        parts,
        value,
      ),
    );
  }

  allParts(x: Tensor): readonly Tensor[] {
    return this.partsOf(x) ?? [x, x.zerosLike()];
  }

  applyFunction(inputs: readonly Tensor[], f: OnSymbols): readonly Tensor[] | undefined {
    return isRecordingWithin(this) ? undefined : f(this, inputs);
  }

  takes(dtype: DType): boolean {
    return isFloat(dtype);
  }

  stepsFirst(part: Tensor): Tensor {
    return part;
  }
}

/**
 * The tangent of the result of a primitive; `undefined` if it is zero.
 *
 * @param tangents Tangents of the inputs, `undefined` for zeros.
 */
function tangentOf<P>(
  primitive: Primitive<P>,
  inputs: readonly Tensor[],
  tangents: readonly (Tensor | undefined)[],
  output: Tensor,
  params: P,
): Tensor | undefined {
  const reverse = reverseOf(primitive);
  const wanted = tangents.map((tangent) => tangent !== undefined);
  if (!reverse || !wanted.includes(true) || !isFloat(output.dtype)) return undefined;
  // The Jacobian of an elementwise operation is diagonal, so it equals its transpose.
  const isSymmetric = primitive.batch === "elementwise" &&
    inputs.every((x, i) => !wanted[i] || x.dtype === output.dtype);
  if (!isSymmetric) {
    const transposed = (g: Tensor) => reverse(g, inputs, output, params, wanted);
    return transposeOf(transposed, tangents, output);
  }
  const parts = tangents.flatMap((tangent, i) => {
    if (!tangent) return [];
    const part = reverse(tangent, inputs, output, params, inputs.map((_, j) => i === j))[i];
    return part ? [part] : [];
  });
  return parts.reduce<Tensor | undefined>((sum, part) => sum?.add(part) ?? part, undefined);
}

/**
 * Applies the transpose of a linear function, by the reverse pass of the function.
 *
 * @param f The linear function, of a tensor like `like`.
 * @param tangents Tensors like the results of `f`, `undefined` for zeros.
 */
function transposeOf(
  f: (x: Tensor) => readonly (Tensor | undefined)[],
  tangents: readonly (Tensor | undefined)[],
  like: Tensor,
): Tensor | undefined {
  // Linear: the transpose is the same at every point.
  const point = like.zerosLike();
  const tape = new Tape([point]);
  const outputs = recordWith(tape, () => f(point));
  const reached = outputs.flatMap((output, i) =>
    output && tangents[i] ? [[output, tangents[i]] as const] : []
  );
  return tape.pullback(reached.map(([output]) => output), reached.map(([, tangent]) => tangent)).get(point);
}
