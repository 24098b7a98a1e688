import { checkOptions, namesOf } from "../../device/options.ts";
import { checkWord } from "../../tensor/checks.ts";
import { splitKey } from "../../tensor/random.ts";
import {
  latentOptionNames,
  type LatentOptions,
  LatentRecurrence,
  type LatentRecurrenceModel,
} from "../latent/latent_recurrence.ts";
import { Recurrent } from "../recurrent.ts";
import { DeltaNet } from "./delta_net.ts";
import {
  type ODERecurrentOptions,
  type ODERecurrentState,
  recurrentCell,
  recurrentOptionNames,
  whereObserved,
} from "./ode_recurrent_cell.ts";
import { inLayers } from "./ode_rfwp.ts";

/** Options of {@linkcode LatentODERFWP}. */
export interface LatentODERFWPOptions extends ODERecurrentOptions, LatentOptions {
  /**
   * The encoder that predicts the distribution of the initial state: `"gru"` (default), the recurrent encoder
   * of the paper's experiments (appendix C.3), or `"delta-net"`, which the paper found to be no better.
   *
   * @default {"gru"}
   */
  encoder?: "gru" | "delta-net";
}

const latentODERFWPOptionNames = namesOf<LatentODERFWPOptions>()(
  recurrentOptionNames,
  latentOptionNames,
  "encoder?",
);

/** A latent ODE-RFWP: a layer with its training loss. */
export type LatentODERFWPModel = LatentRecurrenceModel;

/**
 * A latent {@linkcode ODERFWP} (Irie et al., 2022, equations 26 and 27 and their latent form). An encoder, a
 * GRU or a {@linkcode DeltaNet}, predicts the distribution of the initial recurrent state. From there a
 * differential equation carries the state to each observation, a decoder predicts the observation, and then
 * the observation updates the fast weights. Missing values are replaced by their predictions. A row without
 * any value only advances the state: append rows of NaN at later times to obtain a forecast.
 *
 * The model takes sequences `(batch, length, inputChannels)`, with NaN for missing values, and the gaps
 * between rows. It returns predictions of all rows in the same shape. Each prediction depends on the earlier
 * rows and the initial state.
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
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), `modelDim` is not a
 * multiple of `heads`, the method is neither fixed-step nor adaptive, `noise` is not positive, or `encoder`
 * or `update` has an unknown value.
 * @throws {TypeError} If `rule` is not a function.
 */
export function LatentODERFWP(options: LatentODERFWPOptions): LatentODERFWPModel {
  checkOptions("LatentODERFWP", options, latentODERFWPOptionNames);
  const { inputChannels, modelDim, heads, layers = 1, feedForward, dtype } = options;
  const { noise = 0.1, encoder = "gru", update = "before", staticFeatures } = options;
  checkWord("LatentODERFWP", "encoder", encoder, ["gru", "delta-net"]);
  const keys = splitKey(options.key);
  const cell = recurrentCell("LatentODERFWP", { ...options, key: keys[0] });
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
