import { checkOptions } from "../../device/options.ts";
import { fastWeightOptionNames } from "./option_names.ts";
import type { FastWeightLayerSizes } from "./heads.ts";
import type { ParameterOptions } from "../../nn/layer.ts";
import type { CdeSolveOptions } from "../../solvers/cdeint.ts";
import { checkWord } from "../../tensor/checks.ts";
import { split } from "../../tensor/random.ts";
import type { StaticFeaturesOptions } from "../static_features.ts";
import { alongControl, type FastWeightModel, type WeightSolve } from "./along_control.ts";
import { FastWeightLayers, type WeightEquation } from "./layers.ts";
import { hebb, type LearningRule } from "./rules.ts";
import type { ControlSource } from "./slow_network.ts";

/** Options of {@linkcode FastWeight}; the solver's are among them. */
export interface FastWeightOptions extends CdeSolveOptions, ParameterOptions, FastWeightLayerSizes {
  /** Channels of the control, time included. */
  inputChannels: number;
  /** Features that are read out. */
  outputChannels: number;
  /**
   * The control of a layer above the first while the equation is solved: `"weights"`, the default, the answer of the weights
   * below (equation 34); `"slopes"`, the answer of their slope dW/ds, as in the authors' code of two layers.
   */
  controlsFrom?: "weights" | "slopes";
  /** The learning rule of the fast weights, {@linkcode hebb} by default. */
  rule?: LearningRule;
  /** Source of keys, rates and the query: `"value"` by default. */
  keysFrom?: ControlSource;
  /**
   * Source of the values: `"keys"`, the default, from the same network as the keys (the direct neural ODE); else from
   * the control by a projection of their own (the CDEs).
   */
  valuesFrom?: "keys" | ControlSource;
  /**
   * Whether a layer norm and a second linear map follow the values' own projection, where they have one. `false` by default:
   * as in the paper; the authors' code has it for values along a derivative on EigenWorms.
   */
  normalizeValues?: boolean;
  /** Whether W is transposed when it is queried: where keys are x and values x' (equation 25). */
  transposeQuery?: boolean;
  /**
   * A network of features that do not change over time, from which W(t0) is made instead of from x(t0) (section 4, sepsis): the
   * model is then called with `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
  /** The probability that dropout zeroes a feature of the last block in training, 0 by default. */
  dropout?: number;
}

/** The options of {@linkcode FastWeight} that a model of the paper leaves open. */
export type FastWeightModelOptions = Omit<
  FastWeightOptions,
  "keysFrom" | "valuesFrom" | "normalizeValues" | "transposeQuery"
>;

/**
 * A continuous-time fast weight programmer (Irie, Faccio, Schmidhuber, "Neural Differential Equations for Learning to Program
 * Neural Nets Through Continuous Learning Rules", 2022, section 3, equations 18 to 25): a slow network reads the control and
 * emits keys, values and a learning rate; a learning rule integrates them into the weights of a fast network,
 * dW/ds = rule(k(s), v(s), beta(s), W), from W(t0) = rule(k(t0), v(t0), beta(t0)), which the paper leaves open and the
 * authors' code has; the fast network is queried at the end. The result passes through a projection, a Transformer
 * feed-forward block and a linear readout.
 *
 * All of the paper's models along a control are choices of `rule`, `keysFrom` and `valuesFrom`; {@linkcode FastWeightODE},
 * {@linkcode FastWeightCDE} and {@linkcode FastWeightRDE} make them. What depends on the control alone is computed for all
 * times at once; the solve itself holds the rule, and the layers above the first.
 *
 * The model takes a control with values `(batch, inputChannels)` and returns `(batch, outputChannels)`, or
 * `(batch, length, outputChannels)` for all states. Fixed steps are as long as the smallest gap between observations by
 * default. With `check: true` the first state that is not finite is reported with its time, sample and head.
 *
 * @throws {RangeError} If a size is not a whole number above zero, `modelDim` is not a multiple of `heads`, or an option has a
 * word that it does not know.
 * @throws {TypeError} If `rule` is no function, or values that come from the keys are to be normalised.
 */
export function FastWeight(options: FastWeightOptions): FastWeightModel {
  checkOptions("FastWeight", options, fastWeightOptionNames);
  return fastWeightAlongControl("FastWeight", options);
}

/** Solver or equation of a model where it differs from {@linkcode FastWeight}. */
export interface FastWeightVariant {
  /** The solver of the equation. */
  solve?: WeightSolve;
  /** A change of the equation. */
  change?: (equation: WeightEquation) => WeightEquation;
}

/** A {@linkcode FastWeight} by another name. */
export function fastWeightAlongControl(
  name: string,
  options: FastWeightOptions,
  { solve, change = (equation) => equation }: FastWeightVariant = {},
): FastWeightModel {
  const { inputChannels, modelDim, heads, outputChannels, layers = 1, feedForward = 4 * modelDim, ...rest } =
    options;
  const {
    rule = hebb(),
    keysFrom = "value",
    valuesFrom = "keys",
    normalizeValues = false,
    transposeQuery = false,
    staticFeatures,
    controlsFrom = "weights",
    dropout = 0,
    key,
    dtype,
    ...solver
  } = rest;
  checkWord(name, "keysFrom", keysFrom, ["value", "derivative"]);
  checkWord(name, "valuesFrom", valuesFrom, ["keys", "value", "derivative"]);
  checkWord(name, "controlsFrom", controlsFrom, ["weights", "slopes"]);
  if (normalizeValues && valuesFrom === "keys") {
    throw new TypeError(
      `${name}: normalizeValues needs values with a projection of their own, and these come from the keys' network; choose ` +
        'valuesFrom "value" or "derivative"',
    );
  }
  const keys = split(key);
  const equation = FastWeightLayers(name, {
    ...{ inputChannels, modelDim, heads, layers, feedForward, rule, keysFrom, valuesFrom },
    ...{ normalizeValues, transposeQuery, staticFeatures, controlsFrom, dropout, key: keys[0], dtype },
  });
  return alongControl(change(equation), {
    ...{ name, inputChannels, outputChannels, modelDim, staticFeatures, solver, solve, key: keys[1], dtype },
  });
}
