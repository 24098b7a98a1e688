import { checkOptions, namesOf } from "../../device/options.ts";
import { parameterOptionNames } from "../../nn/layer.ts";
import { GRUCell } from "../../nn/gru.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { betweenObservations, betweenOptionNames, type BetweenOptions } from "../between_observations.ts";
import {
  latentOptionNames,
  type LatentOptions,
  LatentRecurrence,
  type LatentRecurrenceModel,
} from "./latent_recurrence.ts";
import { Recurrent } from "../recurrent.ts";
import type { SequenceOptions } from "../sequences.ts";

/** Options of {@linkcode LatentODERNN}. */
export interface LatentODERNNOptions
  extends BetweenOptions, Omit<SequenceOptions, "outputChannels">, LatentOptions {
  /** Features of the recurrent state and of the encoder's state. */
  hiddenChannels: number;
}

const latentODERNNOptionNames = namesOf<LatentODERNNOptions>()(
  betweenOptionNames,
  parameterOptionNames,
  latentOptionNames,
  "inputChannels hiddenChannels",
);

/**
 * A latent ODE-RNN (Rubanova et al., "Latent ODEs for irregularly-sampled time series", 2019; Du et al.,
 * "Model-based reinforcement learning for semi-Markov decision processes with neural ODEs", 2020), the
 * baseline of appendix C.3 of Irie et al., 2022, equations 9 and 10. A GRU encodes the series into the
 * distribution of an initial state. From there a differential equation carries the state to each observation,
 * a decoder predicts the observation, and a GRU updates the state with it.
 *
 * The model takes sequences `(batch, length, inputChannels)`, with NaN for missing values, and the gaps
 * between rows. It returns predictions of all rows in the same shape. Each prediction depends on the earlier
 * rows and the initial state: see {@linkcode LatentODERFWP}.
 *
 * @example
 * ```ts
 * import { key, LatentODERNN, normal, tensor } from "@weft/weft";
 *
 * const model = LatentODERNN({ inputChannels: 3, hiddenChannels: 16, width: 16, depth: 1, key: key(1) });
 * const [x, gaps] = [normal(key(0), [8, 5, 3]), tensor([0, 0.1, 0.7, 0.2, 1])];
 * const loss = model.loss(x, { gaps, key: key(2) });
 * model(x, { gaps }).shape; // (8, 5, 3)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), the method is neither
 * fixed-step nor adaptive, `noise` is not positive, or `update` has an unknown value.
 */
export function LatentODERNN(options: LatentODERNNOptions): LatentRecurrenceModel {
  checkOptions("LatentODERNN", options, latentODERNNOptionNames);
  const { inputChannels, hiddenChannels, noise = 0.1, update = "before", staticFeatures, dtype } = options;
  const keys = splitKey(options.key, 3);
  const between = betweenObservations("LatentODERNN", {
    ...{ ...options, features: hiddenChannels, key: keys[0] },
  });
  const gru = GRUCell({ inputs: inputChannels, hidden: hiddenChannels, key: keys[1], dtype });
  return LatentRecurrence<Tensor>("LatentODERNN", {
    parameters: { vectorField: between.parameters, cell: gru.parameters },
    compiles: between.compiles,
    ...{ latent: hiddenChannels, features: hiddenChannels },
    start: (_x, drawn) => drawn,
    evolve: between.evolve,
    observe: (h, x) => gru(x, h),
    read: (h) => h,
    choose: (observed, seen, unseen) => observed.where(seen, unseen),
  }, {
    ...{ inputChannels, update, noise, staticFeatures, key: keys[2], dtype },
    encoder: (sizes) => Recurrent({ cell: "gru", ...sizes, hiddenChannels, dtype }),
  });
}
