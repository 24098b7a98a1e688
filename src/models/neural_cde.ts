import type { DType } from "../device/dtype.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { MLP, type MLPParameters } from "../nn/mlp.ts";
import type { Path } from "../paths/path.ts";
import { cdeint } from "../solvers/cdeint.ts";
import type { SolveOptions } from "../solvers/odeint.ts";
import { arange } from "../tensor/creation.ts";
import { type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Options of {@linkcode NeuralCDE}; the solver's are among them. */
export interface NeuralCDEOptions extends SolveOptions {
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

/** What a {@linkcode NeuralCDE} learns. */
export type NeuralCDEParameters = {
  /** z(t0) from X(t0). */
  readonly initial: LinearParameters;
  /** z to a matrix of hidden by input channels, row-major. */
  readonly vectorField: MLPParameters;
  /** The output from z. */
  readonly readout: LinearParameters;
};

/** Which states a model reads out. */
export interface ReadoutOptions {
  /** `"final"`, the default: the state at the end. `"all"`: those at every grid point of the control. */
  states?: "final" | "all";
  /**
   * How many observations each series has, int32 of the control's batch shape, from 1 to the length of the grid: for
   * series of different lengths that were padded to one. The final state is then the one at each series' own end; a
   * length out of range gives NaN. Only with `states: "final"`.
   */
  lengths?: Tensor;
}

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
export function NeuralCDE(
  options: NeuralCDEOptions,
): Layer<[X: Path, options?: ReadoutOptions], NeuralCDEParameters> {
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
  return layer(parameters, (X: Path, { states = "final", lengths }: ReadoutOptions = {}) => {
    if (states === "all" && lengths) {
      throw new TypeError('NeuralCDE: lengths choose a final state; leave them out with states: "all"');
    }
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
    return readout(lengths ? statesAtEnd(z, lengths) : z.at(-2, -1));
  });
}

/** The state of each series at its last observation: (..., length, hidden) and int32 (...) to (..., hidden). */
function statesAtEnd(z: Tensor, lengths: Tensor): Tensor {
  const batch = z.shape.slice(0, -2);
  const [length, hidden] = z.shape.slice(-2);
  if (lengths.dtype !== "int32" || !sameShape(lengths.shape, batch)) {
    throw new ShapeError(
      `NeuralCDE: lengths are ${lengths.dtype} ${formatShape(lengths.shape)}, expected int32 ${
        formatShape(batch)
      }, one for each series`,
    );
  }
  const last = lengths.reshape([-1]).sub(1);
  const rows = arange(last.size, { dtype: "int32", step: length }).add(last);
  // A row of another series must not stand in for one that does not exist.
  const exists = last.greaterEqual(0).and(last.less(length));
  return z.reshape([last.size * length, hidden]).gather(exists.where(rows, -1)).reshape([...batch, hidden]);
}
