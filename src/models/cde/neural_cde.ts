import { namesOf } from "../../device/options.ts";
import type { LinearParameters } from "../../nn/linear.ts";
import { type Activation, hiddenLayerNames, type HiddenLayers, type MLPParameters } from "../../nn/mlp.ts";
import { checkWord } from "../../tensor/checks.ts";
import { splitKey } from "../../tensor/random.ts";
import { alongControl, type AlongControlModel, scaled } from "../along_control.ts";
import {
  checkControlled,
  controlledOptionNames,
  type ControlledOptions,
  hiddenState,
} from "../hidden_state.ts";
import { MatrixField, type MatrixForm } from "./matrix_field.ts";
import type { ReadoutOptions } from "../readout_states.ts";
import type { StaticFeaturesCallOptions } from "../static_features.ts";

/**
 * A neural controlled differential equation (Kidger et al., "Neural Controlled Differential Equations for
 * Irregular Time Series", 2020, section 3, equation 3): z(t0) = initial(X(t0)) and dz = f(z) dX, with a
 * multi-layer perceptron f whose last activation is tanh. The output is linear in z.
 *
 * The model takes a control X with values `(..., inputChannels)`. It returns `(..., outputChannels)`, or
 * `(..., length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { CubicSpline, key, naturalCubicCoeffs, NeuralCDE, normal } from "@weft/weft";
 *
 * const x = normal(key(0), [32, 100, 4]); // (batch, length, channels)
 * const options = { inputChannels: 4, hiddenChannels: 8, outputChannels: 2, width: 16, depth: 1 };
 * const model = NeuralCDE({ ...options, key: key(1) });
 * model(CubicSpline(naturalCubicCoeffs(x))).shape; // (32, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), or `form` or
 * `finalActivation` is unknown.
 */
export function NeuralCDE(options: NeuralCDEOptions): NeuralCDEModel {
  checkControlled("NeuralCDE", options, neuralCDEOptionNames);
  const { inputChannels, hiddenChannels, width, depth, form = "full", finalActivation = "tanh" } = options;
  const { slopeScale = 1, ...others } = options;
  checkWord("NeuralCDE", "form", form, ["full", "rank-one"]);
  const [initial, fieldKey, readout, staticFeatures] = splitKey(options.key, 4);
  const f = MatrixField({
    ...{ hiddenChannels, inputChannels, width, depth, form, finalActivation },
    ...{ key: fieldKey, dtype: options.dtype },
  });
  const equation = hiddenState("NeuralCDE", options, { initial, staticFeatures, readout }, {
    parameters: f.parameters,
    slope: (read, z) => scaled(f(z), slopeScale).matmul(read("derivative").expandDims(-1)).squeeze(-1),
  });
  // The matrix is scaled: it has another rounding than a scaled slope.
  return alongControl("NeuralCDE", others, equation) as NeuralCDEModel;
}

/** A Neural CDE: a layer that reads a whole control, or observations one by one. */
export type NeuralCDEModel = AlongControlModel<NeuralCDECallOptions, NeuralCDEParameters>;

/** Options of a call. */
export type NeuralCDECallOptions = ReadoutOptions & StaticFeaturesCallOptions;

/** Parameters of a {@linkcode NeuralCDE} with a full matrix and an initial condition from the control. */
export type NeuralCDEParameters = {
  /** z(t0) from X(t0). */
  readonly initial: LinearParameters;
  /** z(t0) from static features, if the model has them. */
  readonly staticFeatures?: MLPParameters;
  /** Maps z to a matrix of hidden by input channels, row-major. */
  readonly vectorField: MLPParameters;
  /** Maps z to the output. */
  readonly readout: LinearParameters;
};

/**
 * Options of {@linkcode NeuralCDE}, including those of the solver and of the vector field's hidden layers.
 */
export interface NeuralCDEOptions extends ControlledOptions, HiddenLayers {
  /**
   * How the vector field's last hidden layer becomes a matrix: `"full"` (default), a linear map; `"rank-one"`,
   * an outer product with far fewer parameters (section 6.3).
   *
   * @default {"full"}
   */
  form?: MatrixForm;
  /**
   * Activation after each element of the vector field's matrix, `"tanh"` by default (section 6.2). With
   * `"identity"` and no hidden layers the equation is linear.
   *
   * @default {"tanh"}
   */
  finalActivation?: Activation;
}

const neuralCDEOptionNames = namesOf<NeuralCDEOptions>()(
  controlledOptionNames,
  hiddenLayerNames,
  "form? finalActivation?",
);
