import { checkOptions, namesOf } from "../../device/options.ts";
import { cdeSolveOptionNames } from "../../solvers/controlled.ts";
import { checkCount, checkCounts } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { hiddenLayerNames, type HiddenLayers, MLP } from "../../nn/mlp.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { alongControl } from "../along_control.ts";
import { checkStaticFeatures, StaticNetwork } from "../static_features.ts";
import { product } from "./heads.ts";
import { fastWeightCallNames, type FastWeightModel, type FastWeightModelOptions } from "./options.ts";
import { OutputBlock } from "./output_block.ts";
import { sequenceOptionNames } from "../sequences.ts";

/**
 * A controlled differential equation of fast weights without a learning rule (Irie et al., 2022, equation
 * 22): dW/ds = F(W) x'(s) for one matrix W of `modelDim` by `inputChannels`. F is a multi-layer perceptron
 * (ReLU, tanh at the end) that maps all of W to a matrix with one row per element of W and `inputChannels`
 * columns. W(t0) is linear in x(t0), or computed by a network of static features. W(T) x(T) passes through a
 * Transformer's feed-forward block and a linear readout. This model serves as a comparison: F has `width`
 * times `inputChannels` parameters for each element of W, whereas a learning rule needs no such parameters.
 *
 * See {@linkcode FastWeight} for the shapes of the control and of the output.
 *
 * @example
 * ```ts
 * import { CubicSpline, FastWeightDirectMap, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 8, outputChannels: 2, width: 16, depth: 1 };
 * const model = FastWeightDirectMap({ ...sizes, key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero).
 */
export function FastWeightDirectMap(options: FastWeightDirectMapOptions): FastWeightModel {
  checkOptions("FastWeightDirectMap", options, directMapOptionNames);
  const name = "FastWeightDirectMap";
  const { inputChannels, modelDim, feedForward = 4 * modelDim, width, depth, dropout = 0 } = options;
  const { staticFeatures, dtype } = options;
  checkCounts(name, { inputChannels, modelDim, feedForward });
  checkCount(name, "depth", depth, 0);
  const size = modelDim * inputChannels;
  const keys = splitKey(options.key, 4);
  const initial = staticFeatures
    ? StaticNetwork(name, staticFeatures, { outputs: size, key: keys[0], dtype })
    : Linear({ inputs: inputChannels, outputs: size, key: keys[0], dtype });
  const field = MLP({
    ...{ inputs: size, outputs: size * inputChannels, width, depth, finalActivation: "tanh" },
    ...{ key: keys[1], dtype },
  });
  const block = OutputBlock({ modelDim, feedForward, project: false, dropout, key: keys[2], dtype });
  const asMatrix = (w: Tensor) => w.reshape([...w.shape.slice(0, -1), modelDim, inputChannels]);

  return alongControl(name, options, {
    channels: inputChannels,
    features: modelDim,
    readoutKey: keys[3],
    callNames: fastWeightCallNames,
    parameters: { initial: initial.parameters, vectorField: field.parameters, ...block.parameters },
    axes: ["value", "key"],
    start(read, features) {
      const x0 = read("value");
      checkStaticFeatures(name, features, staticFeatures, x0.shape.slice(0, -1));
      return asMatrix(initial(features ?? x0));
    },
    slope(read, w) {
      const map = field(w.flatten(-2));
      const matrix = map.reshape([...map.shape.slice(0, -1), size, inputChannels]);
      return asMatrix(product(matrix, read("derivative")));
    },
    output: (read, w, key) => block(product(w, read("value")).expandDims(-2), { key }),
  });
}

/** Options of {@linkcode FastWeightDirectMap}. The hidden layers are those of the network F. */
export interface FastWeightDirectMapOptions
  extends Omit<FastWeightModelOptions, "modelDim" | "heads" | "rule" | "layers">, HiddenLayers {
  /** Rows of W, and features of W(T) x(T). */
  modelDim: number;
}

const directMapOptionNames = namesOf<FastWeightDirectMapOptions>()(
  cdeSolveOptionNames,
  sequenceOptionNames,
  hiddenLayerNames,
  "modelDim slopeScale? feedForward? controlsFrom? staticFeatures?",
  "dropout?",
);
