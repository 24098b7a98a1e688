import { checkOptions, namesOf } from "../device/options.ts";
import { splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkCount, type Layer, layer } from "./layer.ts";
import { Linear, linearOptionNames, type LinearOptions, type LinearParameters } from "./linear.ts";

const activations = {
  identity: (x: Tensor): Tensor => x,
  relu: (x: Tensor): Tensor => x.relu(),
  tanh: (x: Tensor): Tensor => x.tanh(),
  sigmoid: (x: Tensor): Tensor => x.sigmoid(),
  softplus: (x: Tensor): Tensor => x.softplus(),
  silu: (x: Tensor): Tensor => x.silu(),
  gelu: (x: Tensor): Tensor => x.gelu(),
  sine: (x: Tensor): Tensor => x.sin(),
};

/** An elementwise function: its name, or a custom function. */
export type Activation =
  | "identity"
  | "relu"
  | "tanh"
  | "sigmoid"
  | "softplus"
  | "silu"
  | "gelu"
  | "sine"
  | ((x: Tensor) => Tensor);

/**
 * Returns the activation function of a name.
 *
 * @throws {RangeError} If the name is unknown.
 */
export function activationFunction(activation: Activation): (x: Tensor) => Tensor {
  if (typeof activation === "function") return activation;
  if (!Object.hasOwn(activations, activation)) {
    throw new RangeError(
      `activation "${activation}" is unknown; there are ${Object.keys(activations).join(", ")}`,
    );
  }
  return activations[activation];
}

/** Hidden layers of a network. */
export interface HiddenLayers {
  /** Features of each hidden layer. */
  width: number;
  /** The number of hidden layers. With 0 the network has only its linear output layer. */
  depth: number;
}

export const hiddenLayerNames = namesOf<HiddenLayers>()("width depth");

/** Options of {@linkcode MLP}. */
export interface MLPOptions extends LinearOptions, HiddenLayers {
  /**
   * Activation after each hidden layer.
   *
   * @default {"relu"}
   */
  activation?: Activation;
  /**
   * Activation after the last layer.
   *
   * @default {"identity"}
   */
  finalActivation?: Activation;
}

const mlpOptionNames = namesOf<MLPOptions>()(
  linearOptionNames,
  hiddenLayerNames,
  "activation? finalActivation?",
);

/**
 * All linear layers in order, including the last: `layers.0.weight`, `layers.0.bias`, `layers.1.weight` ...
 */
export type MLPParameters = { readonly layers: readonly LinearParameters[] };

/**
 * A feed-forward network with `depth` hidden layers of `width` features: maps (..., inputs) to (...,
 * outputs).
 *
 * @example
 * ```ts
 * import { key, MLP, ones } from "@weft/weft";
 *
 * const mlp = MLP({ inputs: 8, outputs: 4, width: 32, depth: 2, activation: "silu", key: key(0) });
 * mlp(ones([16, 8])).shape; // (16, 4)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero).
 */
export function MLP(options: MLPOptions): Layer<[x: Tensor], MLPParameters> {
  checkOptions("MLP", options, mlpOptionNames);
  const { inputs, outputs, width, depth, key, bias, initialization, dtype } = options;
  checkCount("MLP", "depth", depth, 0);
  if (depth > 0) checkCount("MLP", "width", width);
  const sizes = [inputs, ...new Array<number>(depth).fill(width), outputs];
  const layers = splitKey(key, depth + 1).map((key, i) =>
    Linear({ inputs: sizes[i], outputs: sizes[i + 1], bias, initialization, key, dtype })
  );
  const activation = activationFunction(options.activation ?? "relu");
  const finalActivation = activationFunction(options.finalActivation ?? "identity");
  return layer(
    { layers: layers.map(({ parameters }) => parameters) },
    (x: Tensor) =>
      layers.reduce((value, linear, i) => (i < depth ? activation : finalActivation)(linear(value)), x),
  );
}
