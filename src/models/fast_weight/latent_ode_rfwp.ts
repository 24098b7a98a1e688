import { scan } from "../../compile/scan.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkNoise, draw, negativeEvidenceLowerBound, posteriorOf } from "../evidence.ts";
import { DeltaNet } from "./delta_net.ts";
import { checkSequences } from "./discrete.ts";
import {
  ODERecurrentCell,
  type ODERecurrentOptions,
  type ODERecurrentState,
  whereObserved,
} from "./ode_recurrent_cell.ts";
import { perSeries } from "./ode_rfwp.ts";

/** Options of {@linkcode LatentODERFWP}. */
export interface LatentODERFWPOptions extends ODERecurrentOptions {
  /** The standard deviation of observations around predictions, 0.1 by default. */
  noise?: number;
}

/** Options of a call of {@linkcode LatentODERFWP}. */
export interface LatentODERFWPCall {
  /** Time since the previous row, 0 at the first: `(length)`, or `(batch, length)`. */
  gaps: Tensor;
  /** What the initial state is drawn from; its mean without one. */
  key?: Key;
}

/** A latent ODE-RFWP: a layer, with the loss that it is trained with. */
export type LatentODERFWPModel = Layer<[x: Tensor, call: LatentODERFWPCall]> & {
  /** The negative evidence lower bound of observations `(batch, length, inputChannels)`, a mean over series, in nats. */
  loss(x: Tensor, call: LatentODERFWPCall & { key: Key }): Tensor;
};

/**
 * A latent {@linkcode ODERFWP} (Irie et al., 2022, equations 26 and 27 and their latent form): an encoder, a
 * {@linkcode DeltaNet}, gives the distribution of the initial recurrent state; from there a differential equation carries
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
 * `heads`, the method has no fixed steps, or `noise` is not positive.
 */
export function LatentODERFWP(options: LatentODERFWPOptions): LatentODERFWPModel {
  const { inputChannels, modelDim, heads, layers = 1, feedForward, noise = 0.1, dtype } = options;
  const name = "LatentODERFWP";
  checkNoise(name, noise);
  const keys = split(options.key, 3);
  const cell = ODERecurrentCell(name, { ...options, key: keys[0] });
  // It reads what was observed, whether it was, and when.
  const encoder = DeltaNet({
    ...{ inputChannels: 2 * inputChannels + 1, outputChannels: 2 * layers * modelDim },
    ...{ modelDim, heads, layers, feedForward, key: keys[1], dtype },
  });
  const decoder = Linear({ inputs: modelDim, outputs: inputChannels, key: keys[2], dtype });
  const parameters = { ...cell.parameters, encoder: encoder.parameters, decoder: decoder.parameters };

  const predict = (x: Tensor, { gaps, key }: LatentODERFWPCall) => {
    checkSequences(name, x, inputChannels);
    const missing = x.isNaN();
    const known = missing.where(0, x);
    const gap = perSeries(gaps, x);
    const q = posteriorOf(encoder(
      concatenate([known, missing.cast(x.dtype), gap.transpose(0, 1)], -1),
    ));
    const initial = key ? draw(q, key) : q.mean;
    const h = Array.from({ length: layers }, (_, l) => initial.slice(-1, l * modelDim, (l + 1) * modelDim));
    const rows = { x: known.transpose(0, 1), missing: missing.transpose(0, 1), gap };
    const [, predictions] = scan(
      (state: ODERecurrentState, { x, missing, gap }: typeof rows) => {
        const before = cell.evolve(state, gap);
        const predicted = decoder(before.h.at(-1)!);
        const after = cell.observe(before, missing.where(predicted, x));
        const observed = missing.cast(x.dtype).mean(-1, { keepDims: true }).less(1);
        return [whereObserved(observed, after, before), predicted];
      },
      { ...cell.start(x), h },
      rows,
    );
    return { q, predicted: (predictions as Tensor).transpose(0, 1) };
  };

  const model = layer(parameters, (x: Tensor, call: LatentODERFWPCall) => predict(x, call).predicted);
  return Object.assign(model, {
    loss(x: Tensor, call: LatentODERFWPCall & { key: Key }) {
      const { q, predicted } = predict(x, call);
      return negativeEvidenceLowerBound(q, predicted, x, noise);
    },
  });
}
