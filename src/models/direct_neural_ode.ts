import { namesOf } from "../device/options.ts";
import { hiddenLayerNames, type HiddenLayers, MLP } from "../nn/mlp.ts";
import { concatenate } from "../tensor/functions.ts";
import { splitKey } from "../tensor/random.ts";
import { alongControl, type AlongControlModel } from "./along_control.ts";
import {
  checkControlled,
  controlledOptionNames,
  type ControlledOptions,
  hiddenState,
} from "./hidden_state.ts";

/**
 * A direct neural ODE along a control (Irie et al., 2022, equation 8; Kidger et al., 2020, theorem C.1):
 * dh/dt = f([h, X(t)]) with a multi-layer perceptron f with tanh. It is a {@linkcode NeuralODE} with an input.
 * Neural CDEs contain it.
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
export function DirectNeuralODE(options: DirectNeuralODEOptions): AlongControlModel {
  checkControlled("DirectNeuralODE", options, directNeuralODEOptionNames);
  const { inputChannels, hiddenChannels, width, depth, dtype } = options;
  const [fieldKey, initial, staticFeatures, readout] = splitKey(options.key, 4);
  const f = MLP({
    ...{ inputs: hiddenChannels + inputChannels, outputs: hiddenChannels, width, depth },
    ...{ activation: "tanh", key: fieldKey, dtype },
  });
  const equation = hiddenState("DirectNeuralODE", options, { initial, staticFeatures, readout }, {
    parameters: f.parameters,
    slope: (read, h) => f(concatenate([h, read("value")], -1)),
  });
  return alongControl("DirectNeuralODE", options, equation);
}

/**
 * Options of {@linkcode DirectNeuralODE}, including those of the solver and of the vector field's hidden layers.
 */
export interface DirectNeuralODEOptions extends ControlledOptions, HiddenLayers {}

const directNeuralODEOptionNames = namesOf<DirectNeuralODEOptions>()(
  controlledOptionNames,
  hiddenLayerNames,
);
