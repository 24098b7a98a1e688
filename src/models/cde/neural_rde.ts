import { checkOptions, type OptionNames } from "../../device/options.ts";
import { checkCount } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { type Activation, activationFunction } from "../../nn/mlp.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { splitKey } from "../../tensor/random.ts";
import {
  AlongWindows,
  type WindowedModel,
  windowedOptionNames,
  type WindowedOptions,
} from "./along_windows.ts";
import { Trunk } from "./matrix_field.ts";

/** Options of {@linkcode NeuralRDE}, including those of the solver. */
export interface NeuralRDEOptions extends WindowedOptions {
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

const neuralRDEOptionNames: OptionNames<NeuralRDEOptions> = {
  ...windowedOptionNames,
  signatureDepth: "required",
  finalActivation: "optional",
};

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
  checkOptions("NeuralRDE", options, neuralRDEOptionNames);
  const { signatureDepth, finalActivation = "identity", ...rest } = options;
  const { inputChannels, hiddenChannels, width, depth, key, dtype } = rest;
  checkCount("NeuralRDE", "hiddenChannels", hiddenChannels);
  checkCount("NeuralRDE", "depth", depth, 0);
  const words = logsignatureChannels(inputChannels, signatureDepth);
  const [initial, staticFeatures, trunkKey, outputKey, readout] = splitKey(key, 5);
  const trunk = Trunk({ inputs: hiddenChannels, width, depth, lastActivation: "tanh", key: trunkKey, dtype });
  const output = Linear({ inputs: trunk.features, outputs: hiddenChannels * words, key: outputKey, dtype });
  const activation = activationFunction(finalActivation);
  return AlongWindows("NeuralRDE", rest, { initial, staticFeatures, readout }, {
    parameters: { ...trunk.parameters, output: output.parameters },
    words,
    slope(logsignature, z) {
      const matrix = activation(output(trunk.apply(z)));
      return matrix.reshape([...z.shape.slice(0, -1), hiddenChannels, words])
        .matmul(logsignature.expandDims(-1)).squeeze(-1);
    },
  });
}
