/** Equations of a hidden state, a vector, along a control: their first state, and their options. */
import { checkOptions, namesOf, type OptionNames } from "../device/options.ts";
import { checkCounts, type ParameterTree } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { cdeSolveOptionNames, type CdeSolveOptions } from "../solvers/controlled.ts";
import type { Key } from "../tensor/random.ts";
import { checkSlopeScale, type Equation, type SlopeScale } from "./along_control.ts";
import { type StaticFeaturesOptions, StaticState } from "./static_features.ts";
import { sequenceOptionNames, type SequenceOptions, type StateSize } from "./sequences.ts";

/**
 * Makes the equation of a state h `(..., hiddenChannels)`. h(t0) is linear in the first observation, or zero, plus
 * a network of static features. The model's output is linear in h.
 *
 * @param field The slope of h. Along log-signatures, `words` is the number of values of a log-signature.
 */
export function hiddenState(
  name: string,
  options: ControlledOptions,
  keys: { initial: Key; staticFeatures: Key; readout: Key },
  field: { parameters: ParameterTree; words?: number; slope: Equation["slope"] },
): Equation {
  const { inputChannels, hiddenChannels, initial = true, staticFeatures, dtype } = options;
  const sizes = { outputs: hiddenChannels, dtype };
  const linear = Linear({ inputs: inputChannels, key: keys.initial, ...sizes });
  const ofStatic = StaticState(name, staticFeatures, { key: keys.staticFeatures, ...sizes });
  return {
    parameters: {
      ...(initial ? { initial: linear.parameters } : {}),
      ...ofStatic.parameters,
      vectorField: field.parameters,
    },
    channels: field.words ?? inputChannels,
    features: hiddenChannels,
    readoutKey: keys.readout,
    start(read, features) {
      // A path of log-signatures starts with the first observation, followed by zeros for the longer words.
      const first = linear(read("value").slice(-1, 0, inputChannels));
      return ofStatic.addTo(initial ? first : first.zerosLike(), features);
    },
    slope: field.slope,
    output: (_read, h) => h,
  };
}

/** Options of models of a hidden state along a control, including those of the solver. */
export interface ControlledOptions extends CdeSolveOptions, SequenceOptions, StateSize, SlopeScale {
  /**
   * Channels of the control, time included. For a path of log-signatures, the channels of the original
   * series.
   */
  inputChannels: number;
  /**
   * Whether the first state depends on the first observation. If false, it is zero without static features, as
   * in the code of Kidger et al., 2020, for GRU-ODEs, and for Neural CDEs with static features.
   *
   * @default {true}
   */
  initial?: boolean;
  /**
   * A network of static features, which do not change over time. Its output is added to the first state
   * (Kidger et al., 2020, appendix D.3). Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
}

export const controlledOptionNames = namesOf<ControlledOptions>()(
  cdeSolveOptionNames,
  sequenceOptionNames,
  "hiddenChannels initial? staticFeatures? slopeScale?",
);

/** Checks the names of a model's options, its sizes, and the scale of its slope. */
export function checkControlled<O extends ControlledOptions>(
  name: string,
  options: O,
  names: OptionNames<NoInfer<O>>,
): void {
  checkOptions(name, options, names);
  const { inputChannels, hiddenChannels, outputChannels, slopeScale = 1 } = options;
  checkSlopeScale(name, slopeScale);
  checkCounts(name, { inputChannels, hiddenChannels, outputChannels });
}
