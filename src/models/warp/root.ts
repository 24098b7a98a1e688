import { namesOf } from "../../device/options.ts";
import { checkCount } from "../../nn/layer.ts";
import { type Activation, activationFunction, hiddenLayerNames, type HiddenLayers } from "../../nn/mlp.ts";
import { concatenate } from "../../tensor/functions.ts";
import { isRecording, record, withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of the root network: the small network whose weights are WARP's state. */
export interface WARPRootOptions extends HiddenLayers {
  /**
   * Activation after each hidden layer: `"relu"` (default), `"silu"` (swish), `"tanh"`, `"sine"` or another.
   *
   * @default {"relu"}
   */
  activation?: Activation;
  /**
   * Number of frequencies that encode the time. With n frequencies the network reads tau and `sin(2^k pi
   * tau)`, `cos(2^k pi tau)` for k = 0 ... n - 1 (Mildenhall et al., "NeRF", 2020, section 5.1). 0 by default:
   * tau alone. Neither the paper nor the authors' code has this option.
   *
   * @default {0}
   */
  frequencies?: number;
  /**
   * Encodes the step t by sines and cosines in addition to tau, an option of the authors' code. The paper
   * uses tau alone. Needs `trainingLength`, which converts tau to a step.
   */
  positions?: WARPPositionalEncoding;
  /**
   * Whether the network also reads the latest input that updated the state. `false` by default, as in the
   * paper. The authors' code has this input; if predictions are fed back, the code reads the prediction before
   * it (`indexing: "code"`).
   *
   * @default {false}
   */
  previousInput?: boolean;
  /**
   * A fixed tau from 0 to 1 at which the network is always evaluated: the ablation "root network evaluation"
   * of section 3.4. If undefined, tau is the time of the state.
   */
  fixedTau?: number;
}

export const rootOptionNames = namesOf<WARPRootOptions>()(
  hiddenLayerNames,
  "activation? frequencies? positions? previousInput? fixedTau?",
);

/**
 * sin(t / base^(i / channels)) and cos(t / base^(i / channels)) for i = 0, 2, 4 ... (Vaswani et al., 2017,
 * section 3.5), with t in steps.
 */
export interface WARPPositionalEncoding {
  /** Total number of sines and cosines. */
  readonly channels: number;
  /** Above 0. The authors use 5 to 100. */
  readonly base: number;
}

export const positionOptionNames = namesOf<WARPPositionalEncoding>()("channels base");

/** A multi-layer perceptron whose parameters are read from a flat vector. */
export interface Root {
  /** Features of each layer, beginning with the input. Empty without a network. */
  readonly sizes: readonly number[];
  /** Elements of the flat vector. */
  readonly size: number;
  /** The activation of hidden layers. */
  readonly activate: (x: Tensor) => Tensor;
  /**
   * Applies a separate network for each sample and time.
   *
   * @param theta `(..., size)`: layer by layer the weight, `(out, in)` row-major, then the bias.
   * @param features `(..., sizes[0])`, which broadcasts against the leading axes of `theta`.
   * @returns `(..., outputs)`.
   */
  apply(theta: Tensor, features: Tensor): Tensor;
}

/**
 * A root network with `inputs` inputs and `outputs` outputs. @throws {RangeError} If a size is not a positive
 * integer.
 */
export function makeRoot(inputs: number, outputs: number, options: WARPRootOptions): Root {
  const { width, depth, activation = "relu" } = options;
  checkCount("WARP", "root.depth", depth, 0);
  if (depth > 0) checkCount("WARP", "root.width", width);
  const activate = activationFunction(activation);
  const sizes = [inputs, ...new Array<number>(depth).fill(width), outputs];
  const shapes = sizes.slice(1).map((out, i) => [out, sizes[i]] as const);
  const lengths = shapes.flatMap(([out, from]) => [out * from, out]);
  return {
    sizes,
    activate,
    size: lengths.reduce((sum, length) => sum + length, 0),
    apply(theta, features) {
      const parts = partsOf(theta, lengths);
      return shapes.reduce((value, [out, from], i) => {
        const [weight, bias] = [parts[2 * i], parts[2 * i + 1]];
        const matrices = weight.reshape([...theta.shape.slice(0, -1), out, from]);
        const sum = matrices.matmul(value.expandDims(-1)).squeeze(-1).add(bias);
        return i < depth ? activate(sum) : sum;
      }, features);
    },
  };
}

/**
 * Splits the last axis into parts. The gradient concatenates the parts in one pass; gradients of slices would
 * each allocate a tensor as large as the whole.
 */
function partsOf(x: Tensor, lengths: readonly number[]): Tensor[] {
  let start = 0;
  const cut = () => lengths.map((length) => x.slice(-1, start, start += length));
  if (!isRecording()) return cut();
  const parts = withoutRecording(cut);
  record([x], parts, (cotangents) => [
    concatenate(parts.map((part, i) => cotangents[i] ?? part.zerosLike()), x.rank - 1),
  ]);
  return parts;
}

/**
 * No network: the state is the output (section 3.4, "eliminating the root network").
 *
 * @param outputs Number of elements of the state.
 */
export function withoutRoot(outputs: number): Root {
  return { sizes: [], size: outputs, activate: activationFunction("relu"), apply: (theta) => theta };
}

/** The features of the time that a root network reads. */
interface TimeReader {
  readonly features: number;
  /** `(..., 1)` to `(..., features)`. */
  read(tau: Tensor): Tensor;
}

/** @param trainingLength T of equation 1, if it is fixed. */
export function makeTimeReader(options: WARPRootOptions, trainingLength?: number): TimeReader {
  const { frequencies = 0, positions, fixedTau } = options;
  checkCount("WARP", "root.frequencies", frequencies, 0);
  if (fixedTau !== undefined && !(fixedTau >= 0 && fixedTau <= 1)) {
    throw new RangeError(`WARP: root.fixedTau is ${fixedTau}, expected a time from 0 to 1`);
  }
  const rates = Array.from({ length: frequencies }, (_, k) => 2 ** k * Math.PI)
    .concat(positions ? positionalRates(positions, trainingLength) : []);
  const features = 1 + 2 * frequencies + (positions?.channels ?? 0);
  return {
    features,
    read(tau) {
      const time = fixedTau === undefined ? tau : tau.zerosLike().add(fixedTau);
      const waves = rates.map((rate) => time.mul(rate)).flatMap((angle) => [angle.sin(), angle.cos()]);
      // An odd number of channels ends with a sine.
      return concatenate([time, ...waves].slice(0, features), tau.rank - 1);
    },
  };
}

/** Angular rates of the positional encoding with respect to tau, where t = tau (T - 1). */
function positionalRates({ channels, base }: WARPPositionalEncoding, trainingLength?: number): number[] {
  checkCount("WARP", "root.positions.channels", channels);
  if (!(base > 0)) throw new RangeError(`WARP: root.positions.base is ${base}, expected a number above 0`);
  if (trainingLength === undefined) {
    throw new TypeError("WARP: root.positions needs trainingLength: a position is tau (trainingLength - 1)");
  }
  return Array.from(
    { length: Math.ceil(channels / 2) },
    (_, i) => (trainingLength - 1) / base ** (2 * i / channels),
  );
}
