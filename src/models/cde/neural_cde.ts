import { checkOptions, type OptionNames } from "../../device/options.ts";
import { refuseShape } from "../../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { type Activation, hiddenLayerNames, type HiddenLayers, type MLPParameters } from "../../nn/mlp.ts";
import { checkPath, type Path } from "../../paths/path.ts";
import { cdeint } from "../../solvers/cdeint.ts";
import { checkWord } from "../../tensor/checks.ts";
import { zeros } from "../../tensor/creation.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkSlopeScale, controlledOptionNames, type ControlledOptions, scaled } from "../along_path.ts";
import { MatrixField, type MatrixForm } from "./matrix_field.ts";
import { modelSolver } from "../model_solver.ts";
import {
  type StaticFeaturesCallOptions,
  staticFeaturesOptionNames,
  type StaticFeaturesOptions,
  StaticState,
} from "../static_features.ts";
import {
  ModelStream,
  type ModelStreamOptions,
  type StreamableModel,
  streamCallNames,
  streamSolver,
} from "../stream.ts";
import { checkReadout, pathCallNames, type ReadoutOptions, solveAndRead } from "../readout_states.ts";

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
  /**
   * A network of static features, which do not change over time. z(t0) depends on them as well as on X(t0)
   * (appendix D.3). Calls then need `staticFeatures`. With `alone`, z(t0) depends only on them, as in the
   * authors' code.
   */
  staticFeatures?: StaticFeaturesOptions & { alone?: boolean };
}

/** Names of the static features' options of a Neural CDE, which has the additional option `alone`. */
const neuralCDEStaticNames: OptionNames<NonNullable<NeuralCDEOptions["staticFeatures"]>> = {
  ...staticFeaturesOptionNames,
  alone: "optional",
};

const neuralCDEOptionNames: OptionNames<NeuralCDEOptions> = {
  ...controlledOptionNames,
  ...hiddenLayerNames,
  form: "optional",
  finalActivation: "optional",
};

/** Options of a call. */
export type NeuralCDECallOptions = ReadoutOptions & StaticFeaturesCallOptions;

/** A Neural CDE: a layer that reads a whole control, or observations one by one. */
export type NeuralCDEModel =
  & Layer<[X: Path, options?: NeuralCDECallOptions], NeuralCDEParameters>
  & StreamableModel
  & {
    /**
     * Starts a stream that predicts at each observation as it arrives, with the current parameters.
     *
     * @throws {RangeError} For a path that is not causal, or a model whose method is not a fixed-step method.
     */
    stream(options?: ModelStreamOptions & StaticFeaturesCallOptions): ModelStream;
  };

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
  checkOptions("NeuralCDE", options, neuralCDEOptionNames);
  const { inputChannels, hiddenChannels, outputChannels, width, depth, ...rest } = options;
  const { form = "full", finalActivation = "tanh", staticFeatures, key, dtype, slopeScale = 1, ...given } =
    rest;
  checkSlopeScale("NeuralCDE", slopeScale);
  const solver = modelSolver(given);
  if (staticFeatures !== undefined) {
    checkOptions("NeuralCDE: staticFeatures", staticFeatures, neuralCDEStaticNames);
  }
  checkCount("NeuralCDE", "inputChannels", inputChannels);
  checkCount("NeuralCDE", "hiddenChannels", hiddenChannels);
  checkCount("NeuralCDE", "outputChannels", outputChannels);
  checkWord("NeuralCDE", "form", form, ["full", "rank-one"]);
  const keys = splitKey(key, 4);
  const initial = staticFeatures?.alone
    ? undefined
    : Linear({ inputs: inputChannels, outputs: hiddenChannels, key: keys[0], dtype });
  const network = staticFeatures && { channels: staticFeatures.channels, width: staticFeatures.width };
  const ofStatic = StaticState("NeuralCDE", network, {
    ...{ outputs: hiddenChannels, key: keys[3], dtype },
  });
  const vectorField = MatrixField({
    ...{ hiddenChannels, inputChannels, width, depth, form, finalActivation, key: keys[1], dtype },
  });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: keys[2], dtype });
  const field = (_t: Tensor, z: Tensor) => scaled(vectorField(z), slopeScale);
  /** z(t0) from X(t0) and static features. */
  const start = (x0: Tensor, features?: Tensor) => {
    if (x0.shape.at(-1) !== inputChannels) {
      refuseShape(
        "NeuralCDE: the control has values",
        x0.shape,
        `(..., ${inputChannels}), the inputChannels`,
      );
    }
    const first = initial ? initial(x0) : zeros([...x0.shape.slice(0, -1), hiddenChannels], { dtype });
    return ofStatic.addTo(first, features);
  };

  const parameters = {
    ...(initial ? { initial: initial.parameters } : {}),
    ...ofStatic.parameters,
    vectorField: vectorField.parameters,
    readout: readout.parameters,
  } satisfies ParameterTree;
  // Other forms have other parameter names; `treeFlatten` lists them.
  const model = layer(
    parameters as unknown as NeuralCDEParameters,
    (X: Path, call: NeuralCDECallOptions = {}) => {
      checkPath("NeuralCDE", X);
      checkOptions("NeuralCDE", call, pathCallNames);
      checkReadout("NeuralCDE", call);
      const z0 = start(X.evaluate(X.times[0]), call.staticFeatures);
      return solveAndRead("NeuralCDE", X, call, readout, (times) => cdeint(X, field, z0, times, solver));
    },
  );

  const streamed = {
    ...{ name: "NeuralCDE", inputChannels, dtype: dtype ?? "float32", method: solver.method },
    advance: (X: Path, z: Tensor, from: number, to: number) =>
      cdeint(X, field, z, [from, to], streamSolver(solver)).select(-2, 1),
    predict: readout,
  };
  return Object.assign(model, {
    stream(call: ModelStreamOptions & StaticFeaturesCallOptions = {}) {
      checkOptions("NeuralCDE.stream", call, streamCallNames);
      const { staticFeatures: features, ...options } = call;
      return new ModelStream({ ...streamed, start: (X, t) => start(X.evaluate(t), features) }, options);
    },
    streamed: { ...streamed, start: (X: Path, t: number) => start(X.evaluate(t)) },
  });
}
