/** Forecasters: a cell that reads values one by one and, after a context, its predictions; and a readout. */
import { checkOptions, namesOf } from "../device/options.ts";
import { scan } from "../compile/loop/scan.ts";
import {
  checkCount,
  type Layer,
  layer,
  parameterOptionNames,
  type ParameterOptions,
  type ParameterTree,
} from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { arange } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { bernoulli, type Key, normal, splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { checkSequences } from "./sequences.ts";

/** Options that forecasters share. */
export interface ForecasterBaseOptions extends ParameterOptions {
  /** Channels of the sequences. */
  channels: number;
  /**
   * Lower bound of the predicted standard deviations, at least 0. If undefined, the model only predicts
   * means.
   */
  leastDeviation?: number;
  /**
   * Whether to add the time tau, from 0 to 1, as an input channel.
   *
   * @default {false}
   */
  time?: boolean;
}

export const forecasterBaseOptionNames = namesOf<ForecasterBaseOptions>()(
  parameterOptionNames,
  "channels leastDeviation? time?",
);

/** Options of a forecaster's call: which values are inputs. */
export interface ForecastCallOptions {
  /**
   * Number of observed values that are read, at least 1 (default). After them the model reads its own
   * predictions.
   */
  context?: number;
  /**
   * Scheduled sampling (Bengio et al., 2015): the probability of reading the observed value instead of the
   * prediction after the context. 0 by default. In training, use it without a context: then every step but the
   * first is drawn.
   *
   * @default {0}
   */
  forcing?: number;
  /**
   * Whether to feed back reparameterized samples of the predicted normal distribution instead of its mean.
   *
   * @default {false}
   */
  sample?: boolean;
  /** Random key of `forcing` and `sample`. */
  key?: Key;
}

const forecastCallNames = namesOf<ForecastCallOptions>()("context? forcing? sample? key?");

/** Maps sequences `(batch, length, channels)` to predictions. Prediction s is for x_(s+1). */
export type ForecasterModel<P extends ParameterTree> = Layer<
  [x: Tensor, call?: ForecastCallOptions],
  P & { readonly readout: LinearParameters }
>;

/** A cell that reads values one by one. */
export interface ForecastCell<S extends Tree, P extends ParameterTree> {
  readonly parameters: P;
  /** Features of the cell's output. */
  readonly features: number;
  /** The state before the first row of sequences. */
  start(x: Tensor): S;
  /** Reads a row `(batch, inputs)`. Returns the next state and the features `(batch, features)`. */
  step(row: Tensor, state: S): [S, Tensor];
  /** Reads all rows `(batch, length, inputs)` at once. Returns the features `(batch, length, features)`. */
  all?(rows: Tensor): Tensor;
}

/**
 * Makes a forecaster from a cell that reads `inputs` channels: those of the sequence, plus one for the time
 * if `time` is set.
 */
export function Forecaster<S extends Tree, P extends { readonly [name: string]: ParameterTree | undefined }>(
  name: string,
  makeCell: (inputs: number, key: Key) => ForecastCell<S, P>,
  { channels, leastDeviation, time = false, key, dtype }: ForecasterBaseOptions,
): ForecasterModel<P> {
  checkCount(name, "channels", channels);
  if (leastDeviation !== undefined) checkLeastDeviation(name, leastDeviation);
  const [cellKey, readoutKey] = splitKey(key);
  const cell = makeCell(channels + Number(time), cellKey);
  const outputs = leastDeviation === undefined ? channels : 2 * channels;
  const readout = Linear({ inputs: cell.features, outputs, key: readoutKey, dtype });
  const parameters = { ...cell.parameters, readout: readout.parameters };

  const predict = (features: Tensor) => {
    const y = readout(features);
    if (leastDeviation === undefined) return y;
    const deviation = y.slice(-1, channels).softplus().maximum(leastDeviation);
    return concatenate([y.slice(-1, 0, channels), deviation], -1);
  };
  return layer(parameters, (x: Tensor, call: ForecastCallOptions = {}) => {
    checkOptions(name, call, forecastCallNames);
    checkSequences(name, x, channels);
    if (call.sample && leastDeviation === undefined) {
      throw new TypeError(`${name}: sample needs a model with leastDeviation`);
    }
    const [batch, length] = x.shape;
    const usesObservation = stepsWithObservation(name, x, call);
    const tau = time
      ? arange(length, { dtype: x.dtype }).div(Math.max(1, length - 1)).reshape([length, 1, 1])
        .broadcastTo([length, batch, 1])
      : undefined;
    if (cell.all && (call.context === length || call.forcing === 1)) {
      return predict(cell.all(tau ? concatenate([x, tau.transpose(0, 1)], -1) : x));
    }
    const noise = call.sample
      ? normal(splitKey(call.key!)[1], [length, batch, channels], { dtype: x.dtype })
      : undefined;
    const rows = { x: x.transpose(0, 1), usesObservation, tau, noise };
    const [, ys] = scan(
      ({ state, fed }: { state: S; fed: Tensor }, row: typeof rows) => {
        const value = row.usesObservation.where(row.x, fed);
        const [next, features] = cell.step(row.tau ? concatenate([value, row.tau], -1) : value, state);
        const y = predict(features);
        const mean = y.slice(-1, 0, channels);
        const drawn = row.noise ? mean.add(y.slice(-1, channels).mul(row.noise)) : mean;
        return [{ state: next, fed: drawn }, y];
      },
      { state: cell.start(x), fed: x.select(1, 0) },
      rows,
    );
    return (ys as Tensor).transpose(0, 1);
  });
}

/** Throws if a lower bound of standard deviations is negative or NaN. */
export function checkLeastDeviation(model: string, leastDeviation: number): void {
  if (leastDeviation >= 0) return;
  throw new RangeError(`${model}: leastDeviation is ${leastDeviation}, expected a number of at least 0`);
}

/** Whether each step uses the observation, bool `(length, batch, 1)`. */
function stepsWithObservation(
  name: string,
  x: Tensor,
  { context = 1, forcing = 0, sample = false, key }: ForecastCallOptions,
): Tensor {
  const [batch, length] = x.shape;
  if (!(Number.isInteger(context) && context >= 1 && context <= length)) {
    throw new RangeError(
      `${name}: context is ${context}, expected a whole number from 1 to the length ${length}`,
    );
  }
  if (!(forcing >= 0 && forcing <= 1)) {
    throw new RangeError(`${name}: forcing is ${forcing}, expected a probability`);
  }
  if ((forcing > 0 || sample) && !key) {
    throw new TypeError(`${name}: forcing and sample need a key to draw from`);
  }
  const steps = arange(length, { dtype: "int32" }).reshape([length, 1, 1]).broadcastTo([length, batch, 1]);
  const inContext = steps.less(context);
  return forcing > 0 ? inContext.or(bernoulli(splitKey(key!)[0], forcing, inContext.shape)) : inContext;
}
