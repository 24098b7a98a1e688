import { checkOptions, type OptionNames } from "../device/options.ts";
import { checkCount, constantBeside } from "../nn/layer.ts";
import { MLP } from "../nn/mlp.ts";
import { lyndonWords } from "../paths/signature.ts";
import { concatenate } from "../tensor/functions.ts";
import { splitKey } from "../tensor/random.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { treeLeaves } from "../tensor/tree.ts";
import {
  AlongWindows,
  type WindowedModel,
  windowedOptionNames,
  type WindowedOptions,
} from "./along_windows.ts";

/** Options of {@linkcode LogNCDE}, including those of the solver. */
export interface LogNCDEOptions extends WindowedOptions {
  /** Depth of the log-signatures, 1 or 2. Depth 1 is a Neural CDE with a linear control in each window. */
  signatureDepth: number;
  /**
   * Factor on the initial weights and biases of the vector field, 1 by default. The authors use 0.001.
   *
   * @default {1}
   */
  initialScale?: number;
}

const logNCDEOptionNames: OptionNames<LogNCDEOptions> = {
  ...windowedOptionNames,
  signatureDepth: "required",
  initialScale: "optional",
};

/**
 * A Log-NCDE (Walker, McLeod, Qin, Cheng, Li, Lyons, "Log Neural Controlled Differential Equations: The Lie
 * Brackets Make a Difference", 2024): a Neural CDE solved by the log-ODE method. In each window, of length 1
 * in s,
 *
 *     dz/ds = sum_i l_i f_i(z) + sum_(i < j) l_ij [f_i, f_j](z),   [a, b] = J_b a - J_a b
 *
 * with the columns f_i of the vector field (one for each channel), their Jacobians J, and the log-signature l
 * of the window. The vector field has `hidden` by `inputChannels` outputs, whereas a {@linkcode NeuralRDE}
 * has a column for each word and must learn the brackets. The hidden layers use SiLU and the last layer tanh,
 * so the vector field is Lip(2). To keep a bound of its Lip(2) norm small, add a multiple of
 * `l2Penalty(model.parameters.vectorField, { norms: true })` to the loss (their section 3.3). z(t0) is
 * linear in the first observation.
 *
 * The model takes the path of the windows, whose derivative is the sequence of log-signatures. It returns
 * `(batch, outputChannels)`, or `(batch, windows + 1, outputChannels)` for all states. By default one step of
 * `rk4` crosses one window.
 *
 * @example
 * ```ts
 * import { addTime, key, LinearInterpolation, LogNCDE, logsigWindows, normal } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [8, 1001, 2])); // (batch, length, channels)
 * const X = LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 5, width: 16, depth: 2 };
 * const model = LogNCDE({ ...sizes, signatureDepth: 2, key: key(1) });
 * model(X).shape; // (8, 5)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), or `signatureDepth` is
 * neither 1 nor 2.
 */
export function LogNCDE(options: LogNCDEOptions): WindowedModel {
  checkOptions("LogNCDE", options, logNCDEOptionNames);
  const { signatureDepth, initialScale = 1, ...rest } = options;
  const { inputChannels: channels, hiddenChannels: hidden, width, depth, key, dtype } = rest;
  checkCount("LogNCDE", "inputChannels", channels);
  checkCount("LogNCDE", "hiddenChannels", hidden);
  if (signatureDepth !== 1 && signatureDepth !== 2) {
    throw new RangeError(
      `LogNCDE: signatureDepth is ${signatureDepth}, expected 1 or 2: nested Lie brackets are not implemented`,
    );
  }
  if (!(initialScale > 0 && initialScale < Infinity)) {
    throw new RangeError(`LogNCDE: initialScale is ${initialScale}, expected a positive number`);
  }
  const [initial, staticFeatures, fieldKey, readout] = splitKey(key, 4);
  const network = MLP({ inputs: hidden, outputs: hidden * channels, width, depth, key: fieldKey, dtype });
  if (initialScale !== 1) {
    tidy(() => treeLeaves(network.parameters).forEach((x) => x.assign(x.mul(initialScale))));
  }
  const { layers } = network.parameters;
  const asColumns = (x: Tensor) => x.reshape([...x.shape.slice(0, -1), hidden, channels]);

  /**
   * Returns the columns f_1, f_2, ... `(..., hidden, channels)`, and the sum over i of J_i d_i, for the Jacobian
   * J_i of f_i and a direction d_i for each column.
   */
  const columnsAndDerivative = (z: Tensor, directionsOf?: (columns: Tensor) => Tensor) => {
    let value = z;
    const slopes: Tensor[] = [];
    for (const { weight, bias } of layers.slice(0, -1)) {
      const x = value.matmul(weight.mT).add(bias!);
      const gate = x.sigmoid();
      value = x.mul(gate);
      slopes.push(gate.add(value.mul(gate.neg().add(1))).expandDims(-2));
    }
    const { weight, bias } = layers[depth];
    const columns = asColumns(value.matmul(weight.mT).add(bias!)).tanh();
    if (!directionsOf) return { columns };
    let tangents = directionsOf(columns).mT; // (..., channels, hidden)
    slopes.forEach((slope, l) => tangents = tangents.matmul(layers[l].weight.mT).mul(slope));
    // Only the derivative of column i along direction i.
    const last = weight.reshape([hidden, channels, weight.shape[1]]).permute([1, 2, 0]);
    const changes = tangents.expandDims(-2).matmul(last).squeeze(-2).mT;
    return { columns, derivative: columns.square().neg().add(1).mul(changes).sum(-1) };
  };

  const words = lyndonWords(channels, signatureDepth);
  const pairs = words.slice(channels);
  const antisymmetric = Antisymmetric(channels, pairs, layers[0].weight);
  return AlongWindows("LogNCDE", rest, { initial, staticFeatures, readout }, {
    parameters: network.parameters,
    words: words.length,
    slope(logsignature, z) {
      const along = logsignature.slice(-1, 0, channels).expandDims(-1);
      if (pairs.length === 0) return columnsAndDerivative(z).columns.matmul(along).squeeze(-1);
      // sum_(i < j) l_ij [f_i, f_j] = sum_j J_j sum_i l_ij f_i with l_ji = -l_ij: one direction for each
      // column.
      const areas = antisymmetric(logsignature.slice(-1, channels));
      const { columns, derivative } = columnsAndDerivative(z, (columns) => columns.matmul(areas));
      return columns.matmul(along).squeeze(-1).add(derivative!);
    },
  });
}

/**
 * Maps coefficients `(..., pairs)` of pairs i < j to matrices `(..., size, size)` with the coefficient at (i,
 * j) and its negative at (j, i).
 */
function Antisymmetric(
  size: number,
  pairs: readonly number[][],
  parameter: Tensor,
): (x: Tensor) => Tensor {
  const zero = 2 * pairs.length;
  const places = new Int32Array(size * size).fill(zero);
  pairs.forEach(([i, j], k) => {
    places[i * size + j] = k;
    places[j * size + i] = pairs.length + k;
  });
  const indices = constantBeside(parameter, places);
  return (x) =>
    concatenate([x, x.neg(), x.slice(-1, 0, 1).zerosLike()], -1)
      .take(indices(), -1)
      .reshape([...x.shape.slice(0, -1), size, size]);
}
