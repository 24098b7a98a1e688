import { checkOptions, namesOf } from "../../device/options.ts";
import { checkCount, parameterOptionNames, type ParameterTree } from "../../nn/layer.ts";
import { zeroState } from "../../nn/recurrent.ts";
import { foldIn, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { betweenObservations, betweenOptionNames, type BetweenOptions } from "../between_observations.ts";
import { writeAndRead, zeroWeights } from "./discrete.ts";
import { checkSizes, type FastWeightLayerSizes, layerSizeNames } from "./heads.ts";
import { OutputBlock } from "./output_block.ts";
import { checkRule, deltaRule, type LearningRule } from "./rules.ts";
import { SlowNetwork } from "./slow_network.ts";
import type { SequenceOptions } from "../sequences.ts";

/** Options of {@linkcode ODERecurrentCell}, which {@linkcode ODERFWP} and {@linkcode LatentODERFWP} share. */
export interface ODERecurrentOptions
  extends BetweenOptions, Omit<SequenceOptions, "outputChannels">, FastWeightLayerSizes {
  /** The learning rule that updates W at an observation, {@linkcode deltaRule} by default. */
  rule?: LearningRule;
  /**
   * Whether the query depends on tanh(u_n) as well as on x_n: `true` by default, as in equation 27. `false`
   * reproduces the authors' code, whose query depends on x_n alone.
   *
   * @default {true}
   */
  queryFeedback?: boolean;
}

export const recurrentOptionNames = namesOf<ODERecurrentOptions>()(
  betweenOptionNames,
  parameterOptionNames,
  layerSizeNames,
  "inputChannels rule? queryFeedback?",
);

/** Fast weights `(batch, heads, values, keys)` and recurrent states `(batch, modelDim)` of all layers. */
export type ODERecurrentState = { readonly w: readonly Tensor[]; readonly h: readonly Tensor[] };

/** Recurrent fast weights: their change between observations and at observations. */
export interface ODERecurrentCell {
  /** Parameters of all layers. */
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Whether a loop over observations can be compiled. */
  readonly compiles: boolean;
  /** A state of zeros, for sequences `(batch, length, ...)`. */
  start(x: Tensor): ODERecurrentState;
  /**
   * Evolves the state over gaps `(batch, 1)` by dh/dt = f(h) (Irie et al., 2022, equation 26). W does not
   * change.
   */
  evolve(state: ODERecurrentState, gap: Tensor): ODERecurrentState;
  /** Updates W and h from an observation `(batch, inputChannels)` and from h (equation 27). */
  observe(state: ODERecurrentState, x: Tensor): ODERecurrentState;
}

/**
 * The cell of an {@linkcode ODERFWP}, for loops in which the next observation or the gap depends on the state.
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), `modelDim` is not a multiple of
 * `heads`, or the method is neither fixed-step nor adaptive.
 * @throws {TypeError} If `rule` is not a function.
 */
export function ODERecurrentCell(options: ODERecurrentOptions): ODERecurrentCell {
  checkOptions("ODERecurrentCell", options, recurrentOptionNames);
  return recurrentCell("ODERecurrentCell", options);
}

/** Makes an {@linkcode ODERecurrentCell}. @param model Name of the model, for messages. */
export function recurrentCell(model: string, options: ODERecurrentOptions): ODERecurrentCell {
  const {
    inputChannels,
    modelDim,
    heads,
    layers: count = 1,
    rule = deltaRule(),
    queryFeedback = true,
    dtype,
  } = options;
  const { feedForward = 4 * modelDim } = options;
  checkRule(model, rule);
  checkSizes(model, { inputChannels, modelDim, heads, feedForward });
  checkCount(model, "layers", count);
  const layers = Array.from({ length: count }, (_, l) => {
    const keys = splitKey(foldIn(options.key, l), 3);
    const [inputs, project] = l === 0 ? [inputChannels, true] : [modelDim, false];
    return {
      slow: SlowNetwork({
        ...{ inputs, project, modelDim, heads, feedback: true, queryFeedback, key: keys[0], dtype },
        signals: rule.signals,
      }),
      block: OutputBlock({ modelDim, feedForward, key: keys[1], dtype }),
      between: betweenObservations(model, { ...options, features: modelDim, key: keys[2] }),
    };
  });

  return {
    parameters: {
      layers: layers.map(({ slow, block, between }) => ({
        ...slow.parameters,
        ...block.parameters,
        vectorField: between.parameters,
      })),
    },
    compiles: layers[0].between.compiles,
    start: (x) => ({
      w: layers.map(() => zeroWeights(x, modelDim, heads)),
      h: layers.map(() => zeroState(x, modelDim)),
    }),
    evolve: ({ w, h }, gap) => ({ w, h: h.map((state, l) => layers[l].between.evolve(state, gap)) }),
    observe({ w, h }, x) {
      const next = { w: [] as Tensor[], h: [] as Tensor[] };
      layers.forEach(({ slow, block }, l) => {
        const below = l === 0 ? x : next.h[l - 1];
        const [written, outputs] = writeAndRead(slow, rule, () => below, w[l], h[l]);
        next.w.push(written);
        next.h.push(block(outputs));
      });
      return next;
    },
  };
}

/**
 * Selects one of two states for each series by a bool mask `(batch, 1)`. Without a mask returns the first
 * state.
 */
export function whereObserved(
  observed: Tensor | undefined,
  seen: ODERecurrentState,
  unseen: ODERecurrentState,
): ODERecurrentState {
  if (!observed) return seen;
  return {
    w: seen.w.map((w, l) => observed.expandDims([-1, -2]).where(w, unseen.w[l])),
    h: seen.h.map((h, l) => observed.where(h, unseen.h[l])),
  };
}
