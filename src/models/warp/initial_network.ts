import type { DType } from "../../device/dtype.ts";
import type { Initialization } from "../../nn/initialization.ts";
import { initialBias, initialWeight } from "../../nn/initialization.ts";
import { type Layer, layer, parameterOf } from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Root } from "./root.ts";

/** Parameters of theta_0: the layers of a hypernetwork, or theta_0 itself. */
export type WARPInitialParameters = {
  /** Layers of phi, in the order of computation. */
  readonly layers?: readonly LinearParameters[];
  /** The learned theta_0, `(D)`. */
  readonly theta?: Tensor;
};

/**
 * The hypernetwork theta_0 = phi(x_0) (section 2.2), `(batch, inputs)` to `(batch, D)`. It has two hidden
 * layers, whose widths increase evenly from that of the input to that of the output, with the root network's
 * activation. Appendix C lists the two widths in the opposite order; this order follows "gradually
 * increasing" and the authors' code.
 */
export function makeInitialNetwork(
  inputs: number,
  { size, activate }: Root,
  initialization: Initialization,
  key: Key,
  dtype: DType,
): Layer<[x: Tensor], WARPInitialParameters> {
  const between = (share: number) => inputs + Math.trunc(share * (size - inputs) / 3);
  const sizes = [inputs, between(1), between(2), size];
  const layers = splitKey(key, 3).map((key, i) =>
    Linear({ inputs: sizes[i], outputs: sizes[i + 1], initialization, key, dtype })
  );
  return layer(
    { layers: layers.map(({ parameters }) => parameters) },
    (x: Tensor) => layers[2](activate(layers[1](activate(layers[0](x))))),
  );
}

/**
 * A learned theta_0, the same for every sample: `(batch, inputs)` to `(1, D)`. It is initialized like the
 * layers of a network.
 */
export function makeLearnedInitial(
  { sizes, size }: Root,
  initialization: Initialization,
  key: Key,
  dtype: DType,
): Layer<[x: Tensor], WARPInitialParameters> {
  // Without a root network there is no layer whose fan-in could determine the scale.
  if (sizes.length === 0) {
    const theta = parameterOf(() => zeros([size], { dtype }));
    return layer({ theta }, () => theta.expandDims(0));
  }
  const draw = () =>
    splitKey(key, sizes.length - 1).flatMap((key, i) => {
      const [weightKey, biasKey] = splitKey(key);
      const shape = [sizes[i + 1], sizes[i]] as const;
      return [
        initialWeight(initialization, weightKey, shape, dtype).flatten(),
        initialBias(initialization, biasKey, shape, dtype),
      ];
    });
  const theta = parameterOf(() => concatenate(draw()));
  return layer({ theta }, () => theta.expandDims(0));
}
