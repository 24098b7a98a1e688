import { checkOptions, namesOf } from "../device/options.ts";
import {
  checkCount,
  checkFeatures,
  type Layer,
  layer,
  parameterOptionNames,
  type ParameterOptions,
} from "../nn/layer.ts";
import { hiddenLayerNames, type HiddenLayers, MLP, type MLPParameters } from "../nn/mlp.ts";
import { odeint } from "../solvers/odeint.ts";
import { modelSolver } from "./model_solver.ts";
import { solveOptionNames, type SolveOptions } from "../solvers/solve_options.ts";
import type { Tensor } from "../tensor/tensor.ts";

/**
 * A neural ordinary differential equation, dy/dt = f(y) with a multi-layer perceptron f with tanh (Chen et
 * al., "Neural Ordinary Differential Equations", 2018; equation 1 of Kidger et al., 2020, without its linear
 * maps, and 3 of Irie et al., 2022). It takes states `(..., features)` at the first time and returns the
 * states at all times, `(..., times, features)`.
 *
 * @example
 * ```ts
 * import { key, NeuralODE, ones } from "@weft/weft";
 *
 * const model = NeuralODE({ features: 2, width: 16, depth: 1, stepSize: 0.1, key: key(0) });
 * model(ones([5, 2]), [0, 0.5, 2]).shape; // (5, 3, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero).
 */
export function NeuralODE(
  options: NeuralODEOptions,
): Layer<[y0: Tensor, t: Tensor | ArrayLike<number>], MLPParameters> {
  checkOptions("NeuralODE", options, neuralODEOptionNames);
  const { features, width, depth, key, dtype, ...solverOptions } = options;
  const solver = modelSolver(solverOptions);
  checkCount("NeuralODE", "features", features);
  const field = MLP({
    inputs: features,
    outputs: features,
    width,
    depth,
    activation: "tanh",
    key,
    dtype,
  });
  return layer(field.parameters, (y0: Tensor, t: Tensor | ArrayLike<number>) => {
    checkFeatures("NeuralODE", y0, features);
    const y = odeint((_t, y) => field(y), y0, t, solver);
    return y.permute([...y0.shape.slice(1).map((_, axis) => axis + 1), 0, y0.rank]);
  });
}

/**
 * Options of {@linkcode NeuralODE}, including those of the solver and of the vector field's hidden layers.
 */
export interface NeuralODEOptions extends SolveOptions, ParameterOptions, HiddenLayers {
  /** Features of the state. */
  features: number;
}

const neuralODEOptionNames = namesOf<NeuralODEOptions>()(
  solveOptionNames,
  parameterOptionNames,
  hiddenLayerNames,
  "features",
);
