import { checkCount } from "../../nn/layer.ts";
import { type Activation, activationFunction } from "../../nn/mlp.ts";
import { concatenate } from "../../tensor/functions.ts";
import { isRecording, record, withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of a root network: the small network whose weights are WARP's state. */
export interface WARPRootOptions {
  /** Features of each hidden layer. */
  width: number;
  /** The number of hidden layers. */
  depth: number;
  /** After each hidden layer: `"relu"`, the default, `"silu"` (swish), `"tanh"`, `"sine"` or another. */
  activation?: Activation;
  /**
   * How many frequencies encode the time: with n of them the network reads tau and sin(2^k pi tau), cos(2^k pi tau) for
   * k = 0 ... n - 1 (Mildenhall et al., "NeRF", 2020, section 5.1). 0 by default: tau alone.
   */
  frequencies?: number;
  /** Whether the network also reads the input that the state took up last. `false` by default. */
  previousInput?: boolean;
}

/** A multi-layer perceptron that is read from a flat vector. */
export interface Root {
  /** Features of each layer, the first that of the input. */
  readonly sizes: readonly number[];
  /** Elements of the flat vector. */
  readonly size: number;
  /** What follows a hidden layer. */
  readonly activate: (x: Tensor) => Tensor;
  /**
   * Applies one network to each sample and time.
   *
   * @param theta `(..., size)`: layer by layer the weight, `(out, in)` row-major, then the bias.
   * @param features `(..., sizes[0])`, which broadcasts against the axes of `theta`.
   * @returns `(..., outputs)`.
   */
  apply(theta: Tensor, features: Tensor): Tensor;
}

/** A root network of so many inputs and outputs. @throws {RangeError} If a size is not a whole number above zero. */
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
 * The last axis cut into parts of some lengths. The gradient puts the parts together again in one pass; those of slices
 * would each be a tensor as large as the whole.
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

/** What the root network reads of the time: `(..., 1)` to `(..., 1 + 2 frequencies)`. */
export function encodeTime(tau: Tensor, frequencies: number): Tensor {
  const angles = Array.from({ length: frequencies }, (_, k) => tau.mul(2 ** k * Math.PI));
  return concatenate([tau, ...angles.flatMap((angle) => [angle.sin(), angle.cos()])], tau.rank - 1);
}
