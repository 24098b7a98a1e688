import { namesOf } from "../../device/options.ts";
import { hiddenLayerNames, type HiddenLayers, MLP } from "../../nn/mlp.ts";
import { lyndonWords } from "../../paths/signature.ts";
import { splitKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import { treeLeaves } from "../../tensor/tree.ts";
import { alongWindows, type WindowedModel } from "./along_windows.ts";
import { columnsAt } from "./column_field.ts";
import {
  checkControlled,
  controlledOptionNames,
  type ControlledOptions,
  hiddenState,
} from "../hidden_state.ts";
import { pairCoefficients, tripleCoefficients } from "./lie_brackets.ts";

/**
 * A Log-NCDE (Walker, McLeod, Qin, Cheng, Li, Lyons, "Log Neural Controlled Differential Equations: The Lie
 * Brackets Make a Difference", 2024): a Neural CDE solved by the log-ODE method. In each window, of length 1
 * in s,
 *
 *     dz/ds = sum_i l_i f_i(z) + sum_(i < j) l_ij [f_i, f_j](z),   [a, b] = J_b a - J_a b
 *
 * with the columns f_i of the vector field (one for each channel), their Jacobians J, and the log-signature l
 * of the window. Depth 3 adds the brackets [f_i, [f_j, f_k]]. The vector field has `hidden` by `inputChannels` outputs, whereas a {@linkcode NeuralRDE}
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
 * not 1, 2 or 3.
 */
export function LogNCDE(options: LogNCDEOptions): WindowedModel {
  checkControlled("LogNCDE", options, logNCDEOptionNames);
  const { inputChannels: channels, hiddenChannels: hidden, width, depth, dtype } = options;
  const { signatureDepth, initialScale = 1 } = options;
  if (![1, 2, 3].includes(signatureDepth)) {
    throw new RangeError(`LogNCDE: signatureDepth is ${signatureDepth}, expected 1, 2 or 3`);
  }
  if (!(initialScale > 0 && initialScale < Infinity)) {
    throw new RangeError(`LogNCDE: initialScale is ${initialScale}, expected a positive number`);
  }
  const [initial, staticFeatures, fieldKey, readout] = splitKey(options.key, 4);
  const network = MLP({ inputs: hidden, outputs: hidden * channels, width, depth, key: fieldKey, dtype });
  if (initialScale !== 1) {
    tidy(() => treeLeaves(network.parameters).forEach((x) => x.assign(x.mul(initialScale))));
  }
  const words = lyndonWords(channels, signatureDepth);
  const ofLength = (letters: number) => words.filter(({ length }) => length === letters);
  const [pairs, triples] = [ofLength(2), ofLength(3)];
  const [{ weight }] = network.parameters.layers;
  const pairsOf = pairCoefficients(channels, pairs, weight);
  const triplesOf = tripleCoefficients(channels, triples, weight);
  const equation = hiddenState("LogNCDE", options, { initial, staticFeatures, readout }, {
    parameters: network.parameters,
    words: words.length,
    slope(read, z) {
      const logsignature = read("derivative");
      const fields = columnsAt(network.parameters, hidden, channels, z);
      const { columns } = fields;
      const linear = columns.matmul(logsignature.slice(-1, 0, channels).expandDims(-1)).squeeze(-1);
      if (pairs.length === 0) return linear;
      // sum_(i < j) l_ij [f_i, f_j] = sum_j J_j sum_i l_ij f_i with l_ji = -l_ij: one direction for each
      // column.
      const areas = pairsOf(logsignature.slice(-1, channels, channels + pairs.length));
      const directions = columns.matmul(areas);
      if (triples.length === 0) return linear.add(fields.alongEach(directions));
      // [f_p, G_p] = J(G_p) f_p - J_p G_p with G_p = sum_(q, r) m_pqr J_r f_q. The derivative of G_p along f_p has a
      // term with J_r, whose directions are collected, and a term with the second derivative of f_r.
      const m = triplesOf(logsignature.slice(-1, channels + pairs.length));
      const derivatives = fields.alongAll().flatten(-2);
      const batch = m.shape.slice(0, -3);
      const moved = derivatives.matmul(m.reshape([...batch, channels ** 2, channels]));
      const brackets = derivatives.matmul(m.reshape([...batch, channels, channels ** 2]).mT);
      return linear.add(fields.alongEach(directions.add(moved).sub(brackets))).add(fields.second(m));
    },
  });
  return alongWindows("LogNCDE", options, equation);
}

/** Options of {@linkcode LogNCDE}, including those of the solver. */
export interface LogNCDEOptions extends ControlledOptions, HiddenLayers {
  /**
   * Depth of the log-signatures, 1 to 3. Depth 1 is a Neural CDE with a linear control in each window. Depth 3
   * has nested brackets; a step takes some `inputChannels` times as many operations as at depth 2.
   */
  signatureDepth: number;
  /**
   * Factor on the initial weights and biases of the vector field, 1 by default. The authors use 0.001.
   *
   * @default {1}
   */
  initialScale?: number;
}

const logNCDEOptionNames = namesOf<LogNCDEOptions>()(
  controlledOptionNames,
  hiddenLayerNames,
  "signatureDepth initialScale?",
);
