/**
 * The differential equation dh/dt = f(h) of a hidden state between observations. Gaps may differ between
 * series.
 */
import { checkOptions, namesOf } from "../device/options.ts";
import { checkCount, parameterOptionNames, type ParameterOptions } from "../nn/layer.ts";
import { hiddenLayerNames, type HiddenLayers, MLP, type MLPParameters } from "../nn/mlp.ts";
import { isAdaptive, methodOf } from "../solvers/methods.ts";
import { odeint } from "../solvers/odeint.ts";
import { modelSolver } from "./model_solver.ts";
import type { SolveOptions } from "../solvers/solve_options.ts";
import { rungeKuttaSteps } from "../solvers/runge_kutta.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { NeuralODEOptions } from "./neural_ode.ts";

/**
 * Options of the equation between observations and of its solver. The hidden layers of the vector field use
 * tanh.
 */
export interface BetweenOptions extends Pick<SolveOptions, "method" | "rtol" | "atol">, HiddenLayers {
  /**
   * `"rk4"` by default. An adaptive method, such as the paper's `"dopri5"` with `rtol` 1e-5 and `atol` 1e-6,
   * chooses its steps between each observation and the next. The model then runs observation by observation,
   * on the CPU.
   *
   * @default {"rk4"}
   */
  method?: NonNullable<SolveOptions["method"]>;
  /**
   * Number of steps between two observations for a fixed-step method.
   *
   * @default {1}
   */
  stepsPerGap?: number;
}

export const betweenOptionNames = namesOf<BetweenOptions>()(
  hiddenLayerNames,
  "method? rtol? atol? stepsPerGap?",
);

/** Options of {@linkcode BetweenObservations}. */
export interface BetweenObservationsOptions
  extends BetweenOptions, ParameterOptions, Pick<NeuralODEOptions, "features"> {}

const optionNames = namesOf<BetweenObservationsOptions>()(
  betweenOptionNames,
  parameterOptionNames,
  "features",
);

/** An equation between observations. */
export interface BetweenObservations {
  /** Parameters of the vector field. */
  readonly parameters: MLPParameters;
  /** Whether a loop over observations can be compiled. */
  readonly compiles: boolean;
  /** The state `(batch, features)` after gaps `(batch, 1)`. */
  evolve(h: Tensor, gap: Tensor): Tensor;
}

/**
 * The equation of a state between observations (Irie et al., 2022, equations 9 and 26), for a cell such as `GRUCell` that updates
 * the state at observations.
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), or the method is neither fixed-step nor
 * adaptive.
 */
export function BetweenObservations(options: BetweenObservationsOptions): BetweenObservations {
  checkOptions("BetweenObservations", options, optionNames);
  return betweenObservations("BetweenObservations", options);
}

/** Makes the equation. @param model Name of the model, for messages. */
export function betweenObservations(model: string, options: BetweenObservationsOptions): BetweenObservations {
  const { features, width, depth, stepsPerGap = 1, rtol, atol, key, dtype } = options;
  const solver = modelSolver({ method: options.method, rtol, atol });
  checkCount(model, "stepsPerGap", stepsPerGap);
  const tableau = methodOf(solver.method);
  const field = MLP({ inputs: features, outputs: features, width, depth, activation: "tanh", key, dtype });
  if (tableau.kind === "explicit") {
    if (rtol !== undefined || atol !== undefined) {
      throw new RangeError(
        `${model}: rtol and atol do not apply to ${tableau.name}, which has fixed steps; use an adaptive method ` +
          "such as dopri5",
      );
    }
    return {
      parameters: field.parameters,
      compiles: true,
      evolve: (h, gap) => rungeKuttaSteps(tableau, field, gap, h, stepsPerGap),
    };
  }
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `${model}: method "${tableau.name}" has neither fixed steps, as rk4, nor adaptive steps, as dopri5`,
    );
  }
  // Scale every gap to length 1, so that one solve serves all series.
  const evolve = (h: Tensor, gap: Tensor) =>
    odeint((_t, h) => field(h).mul(gap), h, [0, 1], solver).select(0, 1);
  return { parameters: field.parameters, compiles: false, evolve };
}
