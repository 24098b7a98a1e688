import { namesOf } from "../../device/options.ts";
import type { CdeSolveOptions } from "../../solvers/cdeint.ts";
import { cdeSolveOptionNames } from "../../solvers/controlled.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { AlongControlModel, ControlSource, SlopeScale } from "../along_control.ts";
import { pathCallNames, sequenceCallNames, type SequenceCallOptions } from "../readout_states.ts";
import type { StaticFeaturesCallOptions, StaticFeaturesOptions } from "../static_features.ts";
import { type FastWeightLayerSizes, layerSizeNames } from "./heads.ts";
import type { LearningRule } from "./rules.ts";
import { sequenceOptionNames, type SequenceOptions } from "../sequences.ts";

/** Options of {@linkcode FastWeight}, including those of the solver. */
export interface FastWeightOptions
  extends CdeSolveOptions, SequenceOptions, FastWeightLayerSizes, SlopeScale {
  /** Channels of the control, time included. */
  inputChannels: number;
  /**
   * The control of the second and later layers during the solve: `"weights"` (default), the output of the
   * weights of the layer below (equation 34); `"slopes"`, the output of their slope dW/ds, as in the authors'
   * code of two layers.
   *
   * @default {"weights"}
   */
  controlsFrom?: "weights" | "slopes";
  /** The learning rule of the fast weights, {@linkcode hebbRule} by default. */
  rule?: LearningRule;
  /**
   * Source of keys, learning rates and queries.
   *
   * @default {"value"}
   */
  keysFrom?: ControlSource;
  /**
   * Source of the values: `"keys"` (default) uses the same network as the keys (the direct neural ODE);
   * otherwise a separate projection of the control (the CDEs).
   *
   * @default {"keys"}
   */
  valuesFrom?: "keys" | ControlSource;
  /**
   * Whether to apply a layer norm and a second linear map after the separate projection of the values. `false`
   * by default, as in the paper. The authors' code does so for values from a derivative on EigenWorms.
   *
   * @default {false}
   */
  normalizeValues?: boolean;
  /** Whether to transpose W for the query: needed for keys from x and values from x' (equation 25). */
  transposeQuery?: boolean;
  /**
   * A network that computes W(t0) from static features, which do not change over time (section 4, sepsis).
   * Without it, W(t0) is computed from x(t0). With it, calls need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
  /**
   * The dropout probability of the features of the last block in training.
   *
   * @default {0}
   */
  dropout?: number;
}

/** The options of {@linkcode FastWeight} that are not fixed by the models of the paper. */
export type FastWeightModelOptions = Omit<
  FastWeightOptions,
  "keysFrom" | "valuesFrom" | "normalizeValues" | "transposeQuery"
>;

export const fastWeightModelOptionNames = namesOf<FastWeightModelOptions>()(
  cdeSolveOptionNames,
  sequenceOptionNames,
  layerSizeNames,
  "controlsFrom? rule? slopeScale? staticFeatures? dropout?",
);

export const fastWeightOptionNames = namesOf<FastWeightOptions>()(
  fastWeightModelOptionNames,
  "keysFrom? valuesFrom? normalizeValues? transposeQuery?",
);

/** A model of fast weights along a control. */
export type FastWeightModel = AlongControlModel<FastWeightCallOptions>;

/** Options of a call. */
export interface FastWeightCallOptions extends SequenceCallOptions, StaticFeaturesCallOptions {
  /**
   * The fast weights at the first time, instead of those that the model computes: `(..., heads, values,
   * keys)`, or `(..., layers, heads, values, keys)` with several layers.
   */
  initial?: Tensor;
}

export const fastWeightCallNames = namesOf<FastWeightCallOptions>()(
  pathCallNames,
  "initial?",
  sequenceCallNames,
);
