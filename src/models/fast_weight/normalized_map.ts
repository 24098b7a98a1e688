import { sizeOf } from "../../device/shape.ts";
import type { Layer } from "../../nn/layer.ts";
import { type LayerNormParameters, standardDeviationOf } from "../../nn/layer_norm.ts";
import type { LinearParameters } from "../../nn/linear.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A {@linkcode Linear} layer. */
export type LinearLayer = Layer<[x: Tensor], LinearParameters>;

/**
 * A linear map, a layer norm and another linear map: B (g (A x + a - mean) / sd + h) + b, with
 * the mean and the standard deviation sd over the features. Everything
 * but the standard deviation is linear. If the norm has more features than x has channels, the product B g A
 * is computed once for all rows of x, provided that this saves multiplications.
 */
export function normalizedMap(
  first: LinearLayer,
  norm: Layer<[x: Tensor], LayerNormParameters>,
  second: LinearLayer,
): (x: Tensor) => Tensor {
  const [a, n, b] = [first.parameters, norm.parameters, second.parameters];
  const [features, channels] = a.weight.shape;
  return (x) => {
    const rows = sizeOf(x.shape) / channels;
    if (rows * (features - channels) <= features * channels) return second(norm(first(x)));
    const weight = a.weight.sub(a.weight.mean(0, { keepDims: true }));
    const bias = a.bias!.sub(a.bias!.mean());
    const scaled = b.weight.mul(n.weight!);
    const [start, end] = [scaled.matmul(bias), b.weight.matmul(n.bias!).add(b.bias!)];
    const deviation = standardDeviationOf(x.matmul(weight.mT).add(bias));
    return x.matmul(scaled.matmul(weight).mT).add(start).div(deviation).add(end);
  };
}
