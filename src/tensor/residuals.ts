/** The values that gradient rules read, found by applying each rule to symbols. */
import { isFloat } from "../device/dtype.ts";
import { nextLevel, type Primitive, recordingState, type TensorSpec, type Trace } from "./primitive.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor } from "./tensor.ts";

/** The values that the gradient of an operation with respect to one operand reads. */
interface Residuals {
  /** Whether the gradient reads each operand. */
  readonly inputs: readonly boolean[];
  /** Whether the gradient reads the result. */
  readonly output: boolean;
}

const cache = new WeakMap<object, Map<string, readonly Residuals[]>>();

/**
 * The residuals of an operation, for the gradient with respect to each operand. If the operation is linear in an operand, the
 * gradient does not read this operand.
 */
export function residualsOf<P>(
  primitive: Primitive<P>,
  inputs: readonly TensorSpec[],
  params: P,
  output: TensorSpec,
): readonly Residuals[] {
  let ofPrimitive = cache.get(primitive);
  if (!ofPrimitive) cache.set(primitive, ofPrimitive = new Map());
  const key = `${inputs.map(({ shape, dtype }) => `${dtype} ${shape}`).join("; ")} | ${
    JSON.stringify(params)
  }`;
  let residuals = ofPrimitive.get(key);
  if (!residuals) ofPrimitive.set(key, residuals = findResiduals(primitive, inputs, params, output));
  return residuals;
}

function findResiduals<P>(
  { reverse }: Primitive<P>,
  inputs: readonly TensorSpec[],
  params: P,
  output: TensorSpec,
): readonly Residuals[] {
  return inputs.map(({ dtype }, wanted) => {
    // Only floats have gradients.
    if (typeof reverse !== "function" || !isFloat(dtype) || !isFloat(output.dtype)) {
      return { inputs: inputs.map(() => false), output: false };
    }
    const trace = new ReadTrace();
    const operands = inputs.map((input) => trace.symbol(input));
    const [result, cotangent] = [trace.symbol(output), trace.symbol(output)];
    const gradient = reverse(
      cotangent,
      operands,
      result,
      params,
      inputs.map((_, i) => i === wanted),
    )[wanted];
    const read = gradient ? trace.sourcesOf(gradient) : new Set();
    return { inputs: operands.map((x) => read.has(x.storage)), output: read.has(result.storage) };
  });
}

/** A trace that tracks the sources of each symbol. */
class ReadTrace implements Trace {
  readonly level = nextLevel();
  readonly outer = recordingState();
  readonly #sources = new Map<unknown, ReadonlySet<unknown>>();

  /** A symbol computed from the given sources; without sources, a new source. */
  symbol(spec: TensorSpec, sources?: ReadonlySet<unknown>): Tensor {
    const symbol = new Symbolic(
      this,
      { shape: spec.shape, dtype: spec.dtype },
      "a gradient rule cannot read the values of its operands",
    );
    this.#sources.set(symbol, sources ?? new Set([symbol]));
    return new Tensor(symbol);
  }

  sourcesOf({ storage }: Tensor): ReadonlySet<unknown> {
    return this.#sources.get(storage) ?? new Set();
  }

  apply<P>(_primitive: Primitive<P>, inputs: readonly Tensor[], _params: P, spec: TensorSpec): Tensor {
    return this.symbol(spec, new Set(inputs.flatMap((x) => [...this.sourcesOf(x)])));
  }

  lift(x: Tensor): Tensor {
    return this.symbol(x, new Set());
  }
}
