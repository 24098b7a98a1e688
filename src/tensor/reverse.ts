/** Gradient rules of primitives. */
import type { Reverse } from "./primitive.ts";
import type { Tensor } from "./tensor.ts";

/** The gradient with respect to one input. */
type InputGradient<P> = (
  cotangent: Tensor,
  inputs: readonly Tensor[],
  output: Tensor,
  params: P,
) => Tensor | undefined;

/** Combines a gradient rule for each input; `"zero"` for an input whose gradient is zero. */
export function forEachInput<P>(...gradients: readonly (InputGradient<P> | "zero")[]): Reverse<P> {
  return (cotangent, inputs, output, params, wanted) =>
    gradients.map((gradient, i) =>
      wanted[i] && gradient !== "zero" ? gradient(cotangent, inputs, output, params) : undefined
    );
}
