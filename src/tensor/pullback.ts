/** Gradient rules of primitives. */
import type { Tensor } from "./tensor.ts";

/**
 * Gradients with respect to the inputs that are wanted, from the gradient with respect to the output, written in terms of
 * tensors so that they can be differentiated again. `undefined` for an input to which no gradient flows; gradients of inputs
 * that are not wanted are ignored.
 */
export type Pullback<P> = (
  cotangent: Tensor,
  inputs: readonly Tensor[],
  output: Tensor,
  params: P,
  wanted: readonly boolean[],
) => readonly (Tensor | undefined)[];

/** The gradient with respect to one input. */
type InputGradient<P> = (
  cotangent: Tensor,
  inputs: readonly Tensor[],
  output: Tensor,
  params: P,
) => Tensor | undefined;

/** A gradient rule made of one for each input; `"none"` for an input to which no gradient flows. */
export function forEachInput<P>(...gradients: readonly (InputGradient<P> | "none")[]): Pullback<P> {
  return (cotangent, inputs, output, params, wanted) =>
    gradients.map((gradient, i) =>
      wanted[i] && gradient !== "none" ? gradient(cotangent, inputs, output, params) : undefined
    );
}
