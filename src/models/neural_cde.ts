import type { DType } from "../device/dtype.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { MLP, type MLPParameters } from "../nn/mlp.ts";
import type { Path } from "../paths/path.ts";
import { cdeint, type CdeSolveOptions } from "../solvers/cdeint.ts";
import { type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Stream, type StreamOptions } from "./stream.ts";
import { checkReadout, type ReadoutOptions, statesAtEnd } from "./terminal.ts";

/** Options of {@linkcode NeuralCDE}; the solver's are among them. */
export interface NeuralCDEOptions extends CdeSolveOptions {
  /** Channels of the control, time included. */
  inputChannels: number;
  /** Features of the state z. */
  hiddenChannels: number;
  /** Features that are read out of a state. */
  outputChannels: number;
  /** Features of each hidden layer of the vector field. */
  width: number;
  /** The number of hidden layers of the vector field. */
  depth: number;
  /** What the initial parameters are drawn from. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** A Neural CDE: a layer that takes a control, or observations one by one. */
export type NeuralCDEModel = Layer<[X: Path, options?: ReadoutOptions], NeuralCDEParameters> & {
  /**
   * Predicts while observations arrive, at each of them, with what the model has learned up to now.
   *
   * @throws {RangeError} For a path that looks ahead, or a model whose method has no fixed steps.
   */
  stream(options?: StreamOptions): Stream;
};

/** What a {@linkcode NeuralCDE} learns. */
export type NeuralCDEParameters = {
  /** z(t0) from X(t0). */
  readonly initial: LinearParameters;
  /** z to a matrix of hidden by input channels, row-major. */
  readonly vectorField: MLPParameters;
  /** The output from z. */
  readonly readout: LinearParameters;
};

/**
 * A neural controlled differential equation (Kidger et al., "Neural Controlled Differential Equations for Irregular Time
 * Series", 2020, section 3): z(t0) = initial(X(t0)) and dz = f(z) dX, with a multi-layer perceptron f whose last
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
 * model(new CubicSpline(naturalCubicCoeffs(x))).shape; // (32, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero).
 */
export function NeuralCDE(options: NeuralCDEOptions): NeuralCDEModel {
  const { inputChannels, hiddenChannels, outputChannels, width, depth, key, dtype, ...solver } = options;
  checkCount("NeuralCDE", "inputChannels", inputChannels);
  checkCount("NeuralCDE", "hiddenChannels", hiddenChannels);
  checkCount("NeuralCDE", "outputChannels", outputChannels);
  const keys = split(key, 3);
  const initial = Linear({ inputs: inputChannels, outputs: hiddenChannels, key: keys[0], dtype });
  const vectorField = MLP({
    inputs: hiddenChannels,
    outputs: hiddenChannels * inputChannels,
    width,
    depth,
    activation: "relu",
    finalActivation: "tanh",
    key: keys[1],
    dtype,
  });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: keys[2], dtype });
  const field = (_t: Tensor, z: Tensor) =>
    vectorField(z).reshape([...z.shape.slice(0, -1), hiddenChannels, inputChannels]);

  const parameters = {
    initial: initial.parameters,
    vectorField: vectorField.parameters,
    readout: readout.parameters,
  } satisfies ParameterTree;
  const model = layer(parameters, (X: Path, reading: ReadoutOptions = {}) => {
    checkReadout("NeuralCDE", reading);
    const { states = "final", lengths } = reading;
    const start = X.evaluate(X.times[0]);
    if (start.shape.at(-1) !== inputChannels) {
      throw new ShapeError(
        `NeuralCDE: the control has values of shape ${formatShape(start.shape)}, ` +
          `expected (..., ${inputChannels}), the inputChannels`,
      );
    }
    const everywhere = states === "all" || lengths !== undefined;
    const times = everywhere ? X.times : [X.times[0], X.times[X.times.length - 1]];
    const z = cdeint(X, field, initial(start), times, solver);
    if (states === "all") return readout(z);
    return readout(lengths ? statesAtEnd("NeuralCDE", z, lengths) : z.at(-2, -1));
  });

  // One step a piece unless something else was asked for; operation by operation, since a loop of few steps is not worth
  // compiling.
  const { stepSize, stepsPerPiece = stepSize === undefined ? 1 : undefined } = solver;
  const streamed = {
    name: "NeuralCDE",
    inputChannels,
    dtype: dtype ?? "float32",
    method: solver.method,
    start: (X: Path, t: number) => initial(X.evaluate(t)),
    advance: (X: Path, z: Tensor, from: number, to: number) =>
      cdeint(X, field, z, [from, to], { ...solver, stepsPerPiece, compile: false }).at(-2, 1),
    predict: readout,
  };
  return Object.assign(model, { stream: (options?: StreamOptions) => new Stream(streamed, options) });
}
