/** Latent models that read observation by observation: an encoder, a recurrent cell and a decoder. */
import { checkOptions, namesOf } from "../../device/options.ts";
import { scan } from "../../compile/loop/scan.ts";
import { type Layer, layer, type ParameterOptions, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { checkWord } from "../../tensor/checks.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import { checkNoise, draw, negativeEvidenceLowerBound, posteriorOf } from "./evidence_lower_bound.ts";
import { checkSequences, toTimeMajor } from "../sequences.ts";
import { staticFeaturesCallNames, type StaticFeaturesOptions, StaticState } from "../static_features.ts";
import type { LatentODECallOptions } from "./latent_ode.ts";
import type { IrregularGRUCallOptions } from "../irregular_gru.ts";

/** Options of a call of a latent model. */
export interface LatentRecurrenceCallOptions
  extends LatentODECallOptions, Pick<IrregularGRUCallOptions, "gaps"> {}

const latentLossNames = namesOf<LatentRecurrenceCallOptions & { key: Key }>()(
  staticFeaturesCallNames,
  "gaps key",
);

const latentCallNames = namesOf<Partial<LatentRecurrenceCallOptions>>()(
  staticFeaturesCallNames,
  "gaps? key?",
);

/** A latent model of sequences: a layer with its training loss. */
export type LatentRecurrenceModel = Layer<[x: Tensor, call: LatentRecurrenceCallOptions]> & {
  /**
   * The negative evidence lower bound of observations `(batch, length, inputChannels)`, averaged over series,
   * in nats.
   */
  loss(x: Tensor, call: LatentRecurrenceCallOptions & { key: Key }): Tensor;
};

/**
 * Whether an observation updates the state before the differential equation is solved from its time on, or
 * after the equation was solved up to the next row.
 */
export type LatentUpdate = "before" | "after";

/** Options that latent models of sequences share. */
export interface LatentOptions {
  /**
   * The standard deviation of observations around predictions.
   *
   * @default {0.1}
   */
  noise?: number;
  /**
   * A network of static features, which do not change over time. The distribution of the initial state also
   * depends on them. Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
  /**
   * Whether an observation updates the state `"before"` the differential equation is solved from its time on
   * (default, as in the authors' code), or `"after"` the equation was solved up to the next row, the order of
   * the paper's equations.
   */
  update?: LatentUpdate;
}

export const latentOptionNames = namesOf<LatentOptions>()("noise? staticFeatures? update?");

/** A recurrent cell. */
interface LatentCell<S extends Tree> {
  readonly parameters: { readonly [name: string]: ParameterTree };
  readonly compiles: boolean;
  /** Features of the sampled initial state. */
  readonly latent: number;
  /** Features that the decoder reads. */
  readonly features: number;
  /**
   * The first state for sequences `(batch, length, ...)`, from the sampled initial state `(batch, latent)`.
   */
  start(x: Tensor, drawn: Tensor): S;
  evolve(state: S, gap: Tensor): S;
  observe(state: S, x: Tensor): S;
  /** The features that the decoder reads, `(batch, features)`. */
  read(state: S): Tensor;
  /** Selects one of two states for each series by a bool mask `(batch, 1)`. */
  choose(observed: Tensor, seen: S, unseen: S): S;
}

/** Options of {@linkcode LatentRecurrence}. */
interface LatentRecurrenceOptions extends ParameterOptions {
  inputChannels: number;
  /** Maps sequences `(batch, length, 2 * inputChannels + 1)` to `(batch, 2 * latent)`. */
  encoder: (sizes: { inputChannels: number; outputChannels: number; key: Key }) => Layer<[x: Tensor]>;
  update: LatentUpdate;
  noise: number;
  staticFeatures?: StaticFeaturesOptions;
}

/** Makes a latent model from a cell. */
export function LatentRecurrence<S extends Tree>(
  name: string,
  cell: LatentCell<S>,
  { inputChannels, encoder: makeEncoder, update, noise, staticFeatures, key, dtype }: LatentRecurrenceOptions,
): LatentRecurrenceModel {
  checkNoise(name, noise);
  checkWord(name, "update", update, ["before", "after"]);
  const keys = splitKey(key, 3);
  // The encoder reads the observed values, a mask of missing values, and the gaps.
  const encoder = makeEncoder({
    inputChannels: 2 * inputChannels + 1,
    outputChannels: 2 * cell.latent,
    key: keys[0],
  });
  const decoder = Linear({ inputs: cell.features, outputs: inputChannels, key: keys[1], dtype });
  const ofStatic = StaticState(name, staticFeatures, { outputs: 2 * cell.latent, key: keys[2], dtype });
  const parameters: ParameterTree = {
    ...cell.parameters,
    encoder: encoder.parameters,
    ...ofStatic.parameters,
    decoder: decoder.parameters,
  };

  const predict = (x: Tensor, call: Partial<LatentRecurrenceCallOptions>) => {
    checkOptions(name, call, latentCallNames);
    const { gaps, key, staticFeatures } = call;
    checkSequences(name, x, inputChannels);
    const missing = x.isNaN();
    const filled = missing.where(0, x);
    const gap = toTimeMajor(`${name}: gaps`, gaps, x);
    const encoded = encoder(concatenate([filled, missing.cast(x.dtype), gap.transpose(0, 1)], -1));
    const q = posteriorOf(ofStatic.addTo(encoded, staticFeatures));
    const state = cell.start(x, key ? draw(q, key) : q.mean);
    const rows = { x: filled.transpose(0, 1), missing: missing.transpose(0, 1), gap };
    const anything = (missing: Tensor) => missing.cast(x.dtype).mean(-1, { keepDims: true }).less(1);

    const observing = (state: S, { x, missing, gap }: typeof rows): [S, Tensor] => {
      const before = cell.evolve(state, gap);
      const predicted = decoder(cell.read(before));
      const after = cell.observe(before, missing.where(predicted, x));
      return [cell.choose(anything(missing), after, before), predicted];
    };
    // With `update: "after"`, the observation of a row (missing values filled in) is applied at the next row,
    // after the solve over the gap.
    type Waiting = { state: S; last: Tensor; seen: Tensor };
    const waiting = ({ state, last, seen }: Waiting, { x, missing, gap }: typeof rows): [Waiting, Tensor] => {
      const before = cell.evolve(state, gap);
      const next = cell.choose(seen.greater(0), cell.observe(before, last), before);
      const predicted = decoder(cell.read(next));
      const observedNow = anything(missing).cast(x.dtype);
      return [{ state: next, last: missing.where(predicted, x), seen: observedNow }, predicted];
    };
    const none = { last: rows.x.select(0, 0).zerosLike(), seen: gap.select(0, 0).zerosLike() };
    const options = { compile: cell.compiles };
    const [, predictions] = update === "before"
      ? scan(observing, state, rows, options)
      : scan(waiting, { state, ...none }, rows, options);
    return { q, predicted: (predictions as Tensor).transpose(0, 1) };
  };

  const model = layer(
    parameters,
    (x: Tensor, call: Partial<LatentRecurrenceCallOptions> = {}) => predict(x, call).predicted,
  );
  return Object.assign(model, {
    loss(x: Tensor, call: LatentRecurrenceCallOptions & { key: Key }) {
      checkOptions(`${name}.loss`, call, latentLossNames);
      const { q, predicted } = predict(x, call);
      return negativeEvidenceLowerBound(q, predicted, x, noise);
    },
  });
}
