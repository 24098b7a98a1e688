import type { DType } from "../../device/dtype.ts";
import type { Initialization } from "../../nn/initialization.ts";
import { initialBias, initialWeight } from "../../nn/initialization.ts";
import { type Layer, layer, parameterOf } from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Root } from "./root.ts";

/** Parameters of theta_0: a hypernetwork's layers, or theta_0 itself. */
export type WARPInitialParameters = {
  /** Layers of phi, the first to read x_0 in front. */
  readonly layers?: readonly LinearParameters[];
  /** The learned theta_0, `(D)`. */
  readonly theta?: Tensor;
};

/**
 * The hypernetwork theta_0 = phi(x_0) (section 2.2), `(batch, inputs)` to `(batch, D)`: two hidden layers of widths that grow
 * evenly from the input's to the output's, with the root network's activation. Appendix C names the two widths the other way
 * round; "gradually increasing" and the authors' code have them so.
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
  const layers = split(key, 3).map((key, i) =>
    Linear({ inputs: sizes[i], outputs: sizes[i + 1], initialization, key, dtype })
  );
  return layer(
    { layers: layers.map(({ parameters }) => parameters) },
    (x: Tensor) => layers[2](activate(layers[1](activate(layers[0](x))))),
  );
}

/** A learned theta_0, drawn as the layers of a network are; the same for every sample: `(batch, inputs)` to `(1, D)`. */
export function makeLearnedInitial(
  { sizes, size }: Root,
  initialization: Initialization,
  key: Key,
  dtype: DType,
): Layer<[x: Tensor], WARPInitialParameters> {
  // Without a root network there is no layer whose fan would scale it.
  if (sizes.length === 0) {
    const theta = parameterOf(() => zeros([size], { dtype }));
    return layer({ theta }, () => theta.expandDims(0));
  }
  const draw = () =>
    split(key, sizes.length - 1).flatMap((key, i) => {
      const [weightKey, biasKey] = split(key);
      const shape = [sizes[i + 1], sizes[i]] as const;
      return [
        initialWeight(initialization, weightKey, shape, dtype).flatten(),
        initialBias(initialization, biasKey, shape, dtype),
      ];
    });
  const theta = parameterOf(() => concatenate(draw()));
  return layer({ theta }, () => theta.expandDims(0));
}
