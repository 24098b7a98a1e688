import { neuralCDEStaticNames, pathCallNames, streamCallNames } from "./option_names.ts";
import { checkOptions } from "../device/options.ts";
import { neuralCDEOptionNames } from "./option_names.ts";
import { refuseShape } from "../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import type { Activation, HiddenLayers, MLPParameters } from "../nn/mlp.ts";
import { checkPath, type Path } from "../paths/path.ts";
import { cdeint } from "../solvers/cdeint.ts";
import { checkWord } from "../tensor/checks.ts";
import { zeros } from "../tensor/creation.ts";
import { split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ControlledOptions } from "./along_path.ts";
import { MatrixField, type MatrixForm } from "./matrix_field.ts";
import { modelSolver } from "./model_solver.ts";
import { type StaticFeaturesCall, type StaticFeaturesOptions, StaticState } from "./static_features.ts";
import { type SeriesStreams, seriesStreams, type StreamedSeries } from "./series_streams.ts";
import { Stream, type StreamOptions, streamSolver } from "./stream.ts";
import { checkReadout, type ReadoutOptions, solveAndRead } from "./readout_states.ts";

/** Options of {@linkcode NeuralCDE}; the solver's and the vector field's hidden layers are among them. */
export interface NeuralCDEOptions extends ControlledOptions, HiddenLayers {
  /**
   * The map from the vector field's last hidden layer to its matrix: `"full"`, the default, a linear map; `"rank-one"`, an outer
   * product, of far fewer parameters (section 6.3).
   */
  form?: MatrixForm;
  /**
   * After each element of the vector field's matrix, `"tanh"` by default (section 6.2). With `"identity"` and no hidden layers
   * the equation is linear.
   */
  finalActivation?: Activation;
  /**
   * A network of features that do not change over time, on which z(t0) depends as well as on X(t0) (appendix D.3): calls then need
   * `staticFeatures`. With `alone` z(t0) is made of them alone, as in the authors' code.
   */
  staticFeatures?: StaticFeaturesOptions & { alone?: boolean };
}

/** Options of a call. */
export type NeuralCDECall = ReadoutOptions & StaticFeaturesCall;

/** A Neural CDE: a layer that takes a control, or observations one by one. */
export type NeuralCDEModel = Layer<[X: Path, options?: NeuralCDECall], NeuralCDEParameters> & {
  /**
   * Predicts while observations arrive, at each of them, with what the model has learned up to now.
   *
   * @throws {RangeError} For a path that looks ahead, or a model whose method has no fixed steps.
   */
  stream(options?: StreamOptions & StaticFeaturesCall): Stream;
  /** Predicts while observations of many series arrive, which are a unit of time apart, some of them at a time. */
  streams(): SeriesStreams<StreamedSeries>;
};

/** Parameters of a {@linkcode NeuralCDE} of a full matrix and with an initial condition from the control. */
export type NeuralCDEParameters = {
  /** z(t0) from X(t0). */
  readonly initial: LinearParameters;
  /** z(t0) from static features, where the model has some. */
  readonly staticFeatures?: MLPParameters;
  /** z to a matrix of hidden by input channels, row-major. */
  readonly vectorField: MLPParameters;
  /** The output from z. */
  readonly readout: LinearParameters;
};

/**
 * A neural controlled differential equation (Kidger et al., "Neural Controlled Differential Equations for Irregular Time
 * Series", 2020, section 3, equation 3): z(t0) = initial(X(t0)) and dz = f(z) dX, with a multi-layer perceptron f whose last
 * activation is tanh; the output is linear in z.
 *
 * The model takes a control X with values `(..., inputChannels)` and returns `(..., outputChannels)`, or
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
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero), or `form` or `finalActivation` is a word
 * that there is not.
 */
export function NeuralCDE(options: NeuralCDEOptions): NeuralCDEModel {
  checkOptions("NeuralCDE", options, neuralCDEOptionNames);
  const { inputChannels, hiddenChannels, outputChannels, width, depth, ...rest } = options;
  const { form = "full", finalActivation = "tanh", staticFeatures, key, dtype, ...given } = rest;
  const solver = modelSolver(given);
  if (staticFeatures !== undefined) {
    checkOptions("NeuralCDE: staticFeatures", staticFeatures, neuralCDEStaticNames);
  }
  checkCount("NeuralCDE", "inputChannels", inputChannels);
  checkCount("NeuralCDE", "hiddenChannels", hiddenChannels);
  checkCount("NeuralCDE", "outputChannels", outputChannels);
  checkWord("NeuralCDE", "form", form, ["full", "rank-one"]);
  const keys = split(key, 4);
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
  const field = (_t: Tensor, z: Tensor) => vectorField(z);
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
  // The parameters of other forms have other names, which `flatten` gives.
  const model = layer(parameters as unknown as NeuralCDEParameters, (X: Path, call: NeuralCDECall = {}) => {
    checkPath("NeuralCDE", X);
    checkOptions("NeuralCDE", call, pathCallNames);
    checkReadout("NeuralCDE", call);
    const z0 = start(X.evaluate(X.times[0]), call.staticFeatures);
    return solveAndRead("NeuralCDE", X, call, readout, (times) => cdeint(X, field, z0, times, solver));
  });

  const streamed = {
    ...{ name: "NeuralCDE", inputChannels, dtype: dtype ?? "float32", method: solver.method },
    advance: (X: Path, z: Tensor, from: number, to: number) =>
      cdeint(X, field, z, [from, to], streamSolver(solver)).at(-2, 1),
    predict: readout,
  };
  return Object.assign(model, {
    stream(call: StreamOptions & StaticFeaturesCall = {}) {
      checkOptions("NeuralCDE.stream", call, streamCallNames);
      const { staticFeatures: features, ...options } = call;
      return new Stream({ ...streamed, start: (X, t) => start(X.evaluate(t), features) }, options);
    },
    streams: () => seriesStreams({ ...streamed, start: (X, t) => start(X.evaluate(t)) }),
  });
}
