import { checkOptions, namesOf } from "../../device/options.ts";
import { checkCount } from "../../nn/layer.ts";
import { checkWord } from "../../tensor/checks.ts";
import { splitKey } from "../../tensor/random.ts";
import { checkSlopeScale, type SlopeScale } from "../along_control.ts";
import { gatedLayer, GatedLinearUnit } from "../diagonal/gated_layer.ts";
import {
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
} from "../diagonal/stack.ts";
import { controlledLayer, type StructuredCDEControl, type StructuredCDEForm } from "./controlled_layer.ts";
import type { MatrixStructure } from "./structures.ts";
import { logsignatureChannels } from "../../paths/signature.ts";

/** Options of {@linkcode StructuredCDE}. */
export interface StructuredCDEOptions extends StateSpaceOptions, SlopeScale {
  /**
   * d, the size of the state of each layer.
   *
   * @default {64}
   */
  stateSize?: number;
  /**
   * The structure of the matrices. `{ blockSize: 4 }` by default; the block size divides the state size.
   */
  structure?: MatrixStructure;
  /**
   * The step: `"exponential"` multiplies the state by exp(A(dX)), the exact flow of a linear piece of the control.
   * `"euler"` multiplies it by 1 + A(dX). The exponential of `{ rank }`, `"walsh-hadamard"` and `{ density }` is a
   * dense matrix; a step of Euler keeps the cost of the structure.
   *
   * @default {"exponential"}
   */
  form?: StructuredCDEForm;
  /**
   * The control of the first layer. `"changes"` (default): the path through the rows, with dX_k = x_k - x_(k-1) and
   * h_0 = W x_0 + b; time must be a channel. `"values"`: the path of the sums of the rows and of the number of
   * rows, with dX_k = (1, x_k) and a learned initial state. Tokens, one-hot, choose their matrix in this way. The
   * other layers always read values.
   *
   * @default {"changes"}
   */
  control?: StructuredCDEControl;
  /**
   * Depth of the log-signatures, 1 (default) to 3. With a depth above 1, the rows are those of `logsigWindows` with
   * this depth, of series of `inputChannels` channels; the matrices of longer words are Lie brackets. Needs
   * `control: "changes"`, and a structure that brackets keep: `"diagonal"`, `{ blockSize }` or `"dense"`.
   *
   * @default {1}
   */
  signatureDepth?: number;
  /**
   * Scale of the initial matrices: the standard deviation of the elements of A(dX) h for elements of dX and h of
   * variance one. Above 0.
   *
   * @default {0.1}
   */
  initialScale?: number;
}

const structuredCDEOptionNames = namesOf<StructuredCDEOptions>()(
  stateSpaceOptionNames,
  "stateSize? structure? form? control? signatureDepth? initialScale? slopeScale?",
);

/**
 * A structured linear CDE (Walker, Yang, Muca Cirone, Salvi, Lyons, "Structured Linear CDEs: Maximally Expressive
 * and Parallel-in-Time Sequence Models", 2025, arXiv 2505.17761):
 *
 *     dh = sum_i A_i h dX_i,   h_(k+1) = exp(A(dX_k)) h_k  or  (1 + A(dX_k)) h_k,   A(dX) = sum_i dX_i A_i
 *
 * with d by d matrices A_i that have a {@linkcode MatrixStructure}. The first layer reads the control itself; its
 * features are W h / rms(h) + b. Only the direction of h counts, so each step also divides h by its root mean square,
 * and no product of matrices leaves the range of floats. Each further layer computes u + GLU(GELU(CDE(norm(u)))).
 *
 * The states of `"diagonal"`, `{ blockSize }`, `"dense"` and of all exponentials are computed by an associative scan
 * over chunks of time or by single steps in a compiled loop, whichever costs less.
 *
 * With `signatureDepth`, rows of {@linkcode logsigWindows} are the control, and steps are those of the log-ODE
 * method: the model is a {@linkcode LogNCDE} with a linear vector field.
 *
 * @example
 * ```ts
 * import { addTime, key, logsigWindows, normal, StructuredCDE } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [32, 101, 2])); // (batch, length, channels)
 * const sizes = { inputChannels: 3, modelDim: 16, outputChannels: 10, key: key(1) };
 * StructuredCDE({ ...sizes, structure: { blockSize: 4 } })(x).shape; // (32, 10)
 * const rough = StructuredCDE({ ...sizes, signatureDepth: 2 });
 * rough(logsigWindows(x, 2, 10)).shape; // (32, 10), of 10 windows
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, an option is unknown, or the structure does not fit the
 * state size or the signature depth.
 */
export function StructuredCDE(options: StructuredCDEOptions): StateSpaceModel {
  const name = "StructuredCDE";
  checkOptions(name, options, structuredCDEOptionNames);
  const { modelDim: features, inputChannels, stateSize = 64, structure = { blockSize: 4 }, dtype } = options;
  const { form = "exponential", control = "changes", signatureDepth = 1, initialScale = 0.1 } = options;
  const { slopeScale = 1 } = options;
  checkWord(name, "form", form, ["exponential", "euler"]);
  checkWord(name, "control", control, ["values", "changes"]);
  checkCount(name, "stateSize", stateSize);
  checkCount(name, "inputChannels", inputChannels);
  checkSlopeScale(name, slopeScale);
  if (![1, 2, 3].includes(signatureDepth)) {
    throw new RangeError(`${name}: signatureDepth is ${signatureDepth}, expected 1, 2 or 3`);
  }
  if (signatureDepth > 1 && control === "values") {
    throw new RangeError(`${name}: signatureDepth ${signatureDepth} needs control "changes", got "values"`);
  }
  if (!(initialScale > 0 && initialScale < Infinity)) {
    throw new RangeError(`${name}: initialScale is ${initialScale}, expected a positive number`);
  }
  const shared = { features, stateSize, structure, form, initialScale, dtype };
  return stateSpaceModel(
    name,
    {
      ...options,
      inputChannels: signatureDepth === 1
        ? inputChannels
        : logsignatureChannels(inputChannels, signatureDepth),
    },
    {
      makeFirst: (key) =>
        controlledLayer(name, { ...shared, inputs: inputChannels, control, signatureDepth, slopeScale, key }),
      makeLayer(key) {
        const [systemKey, gateKey] = splitKey(key);
        const system = controlledLayer(name, {
          ...{
            ...shared,
            inputs: features,
            control: "values",
            signatureDepth: 1,
            slopeScale: 1,
            key: systemKey,
          },
        });
        return gatedLayer(system, GatedLinearUnit(features, gateKey, dtype), { features, dtype });
      },
    },
  );
}
