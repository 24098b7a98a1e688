import type { DType } from "../device/dtype.ts";
import { checkCount, type Layer, layer } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { activationFunction } from "../nn/mlp.ts";
import { checkPath, type Path } from "../paths/path.ts";
import { logsignatureChannels } from "../paths/signature.ts";
import { type CdeSolveOptions, timesBehind } from "../solvers/controlled.ts";
import { rdeint } from "../solvers/rdeint.ts";
import { type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Trunk } from "./matrix_field.ts";
import { type StaticFeaturesCall, type StaticFeaturesOptions, StaticState } from "./static_features.ts";
import { type ReadoutOptions, solveAndRead } from "./readout_states.ts";

/** Options of {@linkcode NeuralRDE}; the solver's are among them. */
export interface NeuralRDEOptions extends CdeSolveOptions {
  /** Channels of the series, time included, before log-signatures. */
  inputChannels: number;
  /** Depth of the log-signatures, 1 to 4. */
  signatureDepth: number;
  /** Features of the state z. */
  hiddenChannels: number;
  /** Features that are read out of a state. */
  outputChannels: number;
  /** Features of each hidden layer of the vector field. */
  width: number;
  /** The number of hidden layers of the vector field. */
  depth: number;
  /** Whether tanh follows the vector field, as in a {@linkcode NeuralCDE}. `false` by default: as in the authors' code. */
  finalTanh?: boolean;
  /** A network of features that do not change over time, which is added to z(t0): calls then need `staticFeatures`. */
  staticFeatures?: StaticFeaturesOptions;
  /** Random key of the initial parameters. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/**
 * A neural rough differential equation (Morrill et al., "Neural Rough Differential Equations for Long Time Series", 2021), the
 * baseline of table 2 of Irie et al., 2022: z(t0) is linear in the first observation, and in each window dz/ds = f(z) times the
 * window's log-signature. The hidden layers of f have ReLU, the last of them tanh.
 *
 * It takes the path of the windows, whose derivative the log-signatures are, and returns `(batch, outputChannels)`, or
 * `(batch, windows + 1, outputChannels)` for all states. A step crosses one window by default, by `rk4`.
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
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero).
 */
export function NeuralRDE(
  options: NeuralRDEOptions,
): Layer<[X: Path, options?: ReadoutOptions & StaticFeaturesCall]> {
  const { inputChannels, signatureDepth, hiddenChannels, outputChannels, width, depth, ...rest } = options;
  const { finalTanh = false, staticFeatures, key, dtype, ...solver } = rest;
  checkCount("NeuralRDE", "hiddenChannels", hiddenChannels);
  checkCount("NeuralRDE", "depth", depth, 0);
  const words = logsignatureChannels(inputChannels, signatureDepth);
  const keys = split(key, 5);
  const initial = Linear({ inputs: inputChannels, outputs: hiddenChannels, key: keys[0], dtype });
  const ofStatic = StaticState("NeuralRDE", staticFeatures, {
    ...{ outputs: hiddenChannels, key: keys[1], dtype },
  });
  const trunk = Trunk({ inputs: hiddenChannels, width, depth, lastActivation: "tanh", key: keys[2], dtype });
  const output = Linear({ inputs: trunk.features, outputs: hiddenChannels * words, key: keys[3], dtype });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: keys[4], dtype });
  const activation = activationFunction(finalTanh ? "tanh" : "identity");

  const parameters = {
    initial: initial.parameters,
    ...ofStatic.parameters,
    vectorField: { ...trunk.parameters, output: output.parameters },
    readout: readout.parameters,
  };
  return layer(parameters, (X: Path, call: ReadoutOptions & StaticFeaturesCall = {}) => {
    checkPath("NeuralRDE", X);
    const first = X.evaluate(X.times[0]).slice(-1, 0, inputChannels);
    const z0 = ofStatic.addTo(initial(first), call.staticFeatures);
    const field = (logsignature: Tensor, z: Tensor) => {
      const matrix = activation(output(trunk.apply(z))).reshape([
        ...z.shape.slice(0, -1),
        hiddenChannels,
        words,
      ]);
      return matrix.matmul(logsignature.expandDims(-1)).squeeze(-1);
    };
    return solveAndRead("NeuralRDE", X, call, readout, (times) => {
      const z = rdeint(X, field, z0, times, solver);
      return timesBehind(z, z.rank - 2);
    });
  });
}
