import { checkOptions } from "../../device/options.ts";
import { latentODERFWPOptionNames } from "./option_names.ts";
import { checkWord } from "../../tensor/checks.ts";
import { split } from "../../tensor/random.ts";
import {
  type LatentOptions,
  LatentRecurrence,
  type LatentRecurrenceCall,
  type LatentRecurrenceModel,
} from "../latent_recurrence.ts";
import { Recurrent } from "../recurrent.ts";
import { DeltaNet } from "./delta_net.ts";
import {
  ODERecurrentCell,
  type ODERecurrentOptions,
  type ODERecurrentState,
  whereObserved,
} from "./ode_recurrent_cell.ts";
import { inLayers } from "./ode_rfwp.ts";

/** Options of {@linkcode LatentODERFWP}. */
export interface LatentODERFWPOptions extends ODERecurrentOptions, LatentOptions {
  /**
   * The encoder, which gives the distribution of the initial state: `"gru"`, the default, the recurrent encoder of the
   * paper's experiments (appendix C.3), or `"delta-net"`, which it found to do no better.
   */
  encoder?: "gru" | "delta-net";
}

/** Options of a call of {@linkcode LatentODERFWP}. */
export type LatentODERFWPCall = LatentRecurrenceCall;

/** A latent ODE-RFWP: a layer, with the loss that it is trained with. */
export type LatentODERFWPModel = LatentRecurrenceModel;

/**
 * A latent {@linkcode ODERFWP} (Irie et al., 2022, equations 26 and 27 and their latent form): an encoder, a
 * GRU or a {@linkcode DeltaNet}, gives the distribution of the initial recurrent state; from there a differential equation carries
 * the state to each observation, a decoder predicts the observation from it, and then the observation updates the fast
 * weights. Values that are missing are taken as predicted; where a row has none at all, the state only moves on: rows of NaN
 * at later times ask for a forecast.
 *
 * It takes sequences `(batch, length, inputChannels)`, NaN for missing, and the times between them, and returns the
 * predictions of all rows, each from the rows before and the initial state, in the same shape.
 *
 * @example
 * ```ts
 * import { key, LatentODERFWP, normal, tensor } from "@weft/weft";
 *
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, width: 16, depth: 1 };
 * const model = LatentODERFWP({ ...sizes, key: key(1) });
 * const [x, gaps] = [normal(key(0), [8, 5, 3]), tensor([0, 0.1, 0.7, 0.2, 1])];
 * const loss = model.loss(x, { gaps, key: key(2) });
 * model(x, { gaps }).shape; // (8, 5, 3)
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero), `modelDim` is not a multiple of
 * `heads`, the method neither has fixed steps nor is adaptive, `noise` is not positive, or `encoder` or `update` is another word.
 * @throws {TypeError} If `rule` is no function.
 */
export function LatentODERFWP(options: LatentODERFWPOptions): LatentODERFWPModel {
  checkOptions("LatentODERFWP", options, latentODERFWPOptionNames);
  const { inputChannels, modelDim, heads, layers = 1, feedForward, dtype } = options;
  const { noise = 0.1, encoder = "gru", update = "before", staticFeatures } = options;
  checkWord("LatentODERFWP", "encoder", encoder, ["gru", "delta-net"]);
  const keys = split(options.key);
  const cell = ODERecurrentCell("LatentODERFWP", { ...options, key: keys[0] });
  return LatentRecurrence<ODERecurrentState>("LatentODERFWP", {
    ...cell,
    latent: layers * modelDim,
    features: modelDim,
    start: (x, drawn) => ({ ...cell.start(x), h: inLayers(drawn, layers) }),
    read: ({ h }) => h.at(-1)!,
    choose: whereObserved,
  }, {
    ...{ inputChannels, update, noise, staticFeatures, key: keys[1], dtype },
    encoder: (sizes) =>
      encoder === "gru"
        ? Recurrent({ cell: "gru", ...sizes, hiddenChannels: modelDim, dtype })
        : DeltaNet({ ...sizes, modelDim, heads, layers, feedForward, dtype }),
  });
}
