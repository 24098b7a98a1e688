import { checkOptions, type OptionNames } from "../device/options.ts";
import { checkCount } from "../nn/layer.ts";
import { hiddenLayerNames, type HiddenLayers, MLP } from "../nn/mlp.ts";
import { concatenate } from "../tensor/functions.ts";
import { splitKey } from "../tensor/random.ts";
import { AlongPath, type AlongPathModel, alongPathOptionNames, type AlongPathOptions } from "./along_path.ts";

/**
 * Options of {@linkcode DirectNeuralODE}, including those of the solver and of the vector field's hidden layers.
 */
export interface DirectNeuralODEOptions extends AlongPathOptions, HiddenLayers {}

const directNeuralODEOptionNames: OptionNames<DirectNeuralODEOptions> = {
  ...alongPathOptionNames,
  ...hiddenLayerNames,
};

/**
 * A direct neural ODE along a control: dh/dt = f([h, X(t)]) with a multi-layer perceptron f with tanh. It is
 * equation 8 of Irie et al., 2022, and the equation of theorem C.1 of Kidger et al., 2020, which Neural CDEs
 * contain. It is a {@linkcode NeuralODE} with an input.
 *
 * The model takes a control with values `(..., inputChannels)`. It returns `(..., outputChannels)`, linear in
 * h at the end, or `(..., length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { CubicSpline, DirectNeuralODE, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 2, width: 16, depth: 1 };
 * const model = DirectNeuralODE({ ...sizes, key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero).
 */
export function DirectNeuralODE(given: DirectNeuralODEOptions): AlongPathModel {
  checkOptions("DirectNeuralODE", given, directNeuralODEOptionNames);
  const { width, depth, ...options } = given;
  const { inputChannels, hiddenChannels, key, dtype } = options;
  checkCount("DirectNeuralODE", "inputChannels", inputChannels);
  checkCount("DirectNeuralODE", "hiddenChannels", hiddenChannels);
  const [fieldKey, initial, staticFeatures, readout] = splitKey(key, 4);
  const network = MLP({
    ...{ inputs: hiddenChannels + inputChannels, outputs: hiddenChannels, width, depth },
    ...{ activation: "tanh", key: fieldKey, dtype },
  });
  return AlongPath("DirectNeuralODE", options, { initial, staticFeatures, readout }, {
    parameters: network.parameters,
    slope: (x, h) => network(concatenate([h, x], -1)),
  });
}
