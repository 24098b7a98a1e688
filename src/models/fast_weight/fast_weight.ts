import { checkOptions } from "../../device/options.ts";
import { checkWord } from "../../tensor/checks.ts";
import { splitKey } from "../../tensor/random.ts";
import { alongControl, type Equation } from "../along_control.ts";
import { FastWeightLayers } from "./layers.ts";
import {
  fastWeightCallNames,
  type FastWeightModel,
  fastWeightOptionNames,
  type FastWeightOptions,
} from "./options.ts";
import { hebbRule } from "./rules.ts";

/**
 * A continuous-time fast weight programmer (Irie, Faccio, Schmidhuber, "Neural Differential Equations for
 * Learning to Program Neural Nets Through Continuous Learning Rules", 2022, section 3, equations 18 to 25). A
 * slow network reads the control and outputs keys, values and a learning rate. A learning rule integrates
 * them into the weights of a fast network: dW/ds = rule(k(s), v(s), beta(s), W), from W(t0) = rule(k(t0),
 * v(t0), beta(t0)). The paper does not specify W(t0); this is the choice of the authors' code. The fast
 * network is queried at the end. Its output passes through a projection, a Transformer feed-forward block and
 * a linear readout.
 *
 * All of the paper's models along a control are choices of `rule`, `keysFrom` and `valuesFrom`; see
 * {@linkcode FastWeightODE}, {@linkcode FastWeightCDE} and {@linkcode FastWeightRDE}. Everything that depends
 * only on the control is computed for all times at once. The solve itself contains the rule, and all layers
 * above the first.
 *
 * The model takes a control with values `(..., inputChannels)`. It returns `(..., outputChannels)`, or `(...,
 * length, outputChannels)` for all states. The default step size of fixed-step methods is the
 * smallest gap between observations. With `check: true`, the first non-finite state throws an error with its
 * time, sample and head.
 *
 * @throws {RangeError} If a size is not a positive integer, `modelDim` is not a multiple of `heads`, or an
 * option has an unknown value.
 * @throws {TypeError} If `rule` is not a function, or `normalizeValues` is set while values come from the
 * keys' network.
 */
export function FastWeight(options: FastWeightOptions): FastWeightModel {
  checkOptions("FastWeight", options, fastWeightOptionNames);
  return alongControl("FastWeight", options, fastWeightEquation("FastWeight", options));
}

/** The equation of a {@linkcode FastWeight} with a name for messages. */
export function fastWeightEquation(name: string, options: FastWeightOptions): Equation {
  const {
    inputChannels,
    modelDim,
    heads,
    layers = 1,
    feedForward = 4 * modelDim,
    rule = hebbRule(),
    keysFrom = "value",
    valuesFrom = "keys",
    normalizeValues = false,
    transposeQuery = false,
    staticFeatures,
    controlsFrom = "weights",
    dropout = 0,
    dtype,
  } = options;
  checkWord(name, "keysFrom", keysFrom, ["value", "derivative"]);
  checkWord(name, "valuesFrom", valuesFrom, ["keys", "value", "derivative"]);
  checkWord(name, "controlsFrom", controlsFrom, ["weights", "slopes"]);
  if (normalizeValues && valuesFrom === "keys") {
    throw new TypeError(
      `${name}: normalizeValues needs a separate projection of the values, but the keys' network computes them; choose ` +
        'valuesFrom "value" or "derivative"',
    );
  }
  const [key, readoutKey] = splitKey(options.key);
  const equation = FastWeightLayers(name, {
    ...{ inputChannels, modelDim, heads, layers, feedForward, rule, keysFrom, valuesFrom },
    ...{ normalizeValues, transposeQuery, staticFeatures, controlsFrom, dropout, key, dtype },
  });
  return { ...equation, readoutKey, callNames: fastWeightCallNames };
}
