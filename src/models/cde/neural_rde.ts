import { namesOf } from "../../device/options.ts";
import { checkCount } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { type Activation, activationFunction, hiddenLayerNames, type HiddenLayers } from "../../nn/mlp.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { splitKey } from "../../tensor/random.ts";
import { alongWindows, type WindowedModel } from "./along_windows.ts";
import {
  checkControlled,
  controlledOptionNames,
  type ControlledOptions,
  hiddenState,
} from "../hidden_state.ts";
import { Trunk } from "./matrix_field.ts";

/**
 * A neural rough differential equation (Morrill et al., "Neural Rough Differential Equations for Long Time
 * Series", 2021), the baseline of table 2 of Irie et al., 2022. z(t0) is linear in the first observation. In
 * each window dz/ds is f(z) times the log-signature of the window. The hidden layers of f use ReLU, except
 * that the last one uses tanh.
 *
 * The model takes the path of the windows, whose derivative is the sequence of log-signatures. It returns
 * `(batch, outputChannels)`, or `(batch, windows + 1, outputChannels)` for all states. By default one step of
 * `rk4` crosses one window.
 *
 * @example
 * ```ts
 * import { addTime, key, LinearInterpolation, logsigWindows, NeuralRDE, normal } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [8, 1001, 2])); // (batch, length, channels)
 * const X = LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 5, width: 16, depth: 2 };
 * const model = NeuralRDE({ ...sizes, signatureDepth: 2, key: key(1) });
 * model(X).shape; // (8, 5)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), or `signatureDepth` is not
 * 1 to 4.
 */
export function NeuralRDE(options: NeuralRDEOptions): WindowedModel {
  checkControlled("NeuralRDE", options, neuralRDEOptionNames);
  const { inputChannels, hiddenChannels, width, depth, signatureDepth, dtype } = options;
  checkCount("NeuralRDE", "depth", depth, 0);
  const words = logsignatureChannels(inputChannels, signatureDepth);
  const [initial, staticFeatures, trunkKey, outputKey, readout] = splitKey(options.key, 5);
  const trunk = Trunk({ inputs: hiddenChannels, width, depth, lastActivation: "tanh", key: trunkKey, dtype });
  const output = Linear({ inputs: trunk.features, outputs: hiddenChannels * words, key: outputKey, dtype });
  const activation = activationFunction(options.finalActivation ?? "identity");
  const equation = hiddenState("NeuralRDE", options, { initial, staticFeatures, readout }, {
    parameters: { ...trunk.parameters, output: output.parameters },
    words,
    slope(read, z) {
      const f = activation(output(trunk.apply(z))).reshape([...z.shape, words]);
      return f.matmul(read("derivative").expandDims(-1)).squeeze(-1);
    },
  });
  return alongWindows("NeuralRDE", options, equation);
}

/** Options of {@linkcode NeuralRDE}, including those of the solver. */
export interface NeuralRDEOptions extends ControlledOptions, HiddenLayers {
  /** Depth of the log-signatures, 1 to 4. */
  signatureDepth: number;
  /**
   * Activation of the vector field. `"identity"` by default, as in the authors' code; `"tanh"` as in a
   * {@linkcode NeuralCDE}.
   *
   * @default {"identity"}
   */
  finalActivation?: Activation;
}

const neuralRDEOptionNames = namesOf<NeuralRDEOptions>()(
  controlledOptionNames,
  hiddenLayerNames,
  "signatureDepth finalActivation?",
);
