/** Recurrent networks along sequences, the baselines of other models. */
import type { DType } from "../device/dtype.ts";
import { GRUCell } from "../nn/gru.ts";
import { checkCount, type Layer, layer } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { LSTMCell, type LSTMState } from "../nn/lstm.ts";
import type { MLPParameters } from "../nn/mlp.ts";
import { carryThrough, type GateParameters, zeroState } from "../nn/recurrent.ts";
import { scan } from "../compile/scan.ts";
import { arange } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { bernoulli, type Key, normal, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkReadout, chooseStates, type ReadoutOptions } from "./readout_states.ts";
import { checkSequences } from "./sequences.ts";
import { type StaticFeaturesCall, type StaticFeaturesOptions, StaticState } from "./static_features.ts";

/** Options of {@linkcode Recurrent}. */
export interface RecurrentModelOptions {
  /** The cell that carries the state. */
  cell: "gru" | "lstm";
  /** Channels of the sequences. */
  inputChannels: number;
  /** Features of the state. */
  hiddenChannels: number;
  /** Features that are read out. */
  outputChannels: number;
  /** A network of features that do not change over time, which makes the first state instead of zeros: calls then need `staticFeatures`. */
  staticFeatures?: StaticFeaturesOptions;
  /** Random key of the initial parameters. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** Parameters of a {@linkcode Recurrent} and a {@linkcode RecurrentForecaster}. */
export type RecurrentParameters = {
  readonly cell: GateParameters;
  /** Network of the static features, where the model has them, for the first state. */
  readonly staticFeatures?: MLPParameters;
  readonly readout: LinearParameters;
};

/** A cell of either kind, with its state in one form. */
interface Cell {
  readonly parameters: GateParameters;
  step(x: Tensor, state: LSTMState): LSTMState;
}

function makeCell(kind: "gru" | "lstm", inputs: number, hidden: number, key: Key, dtype?: DType): Cell {
  const options = { inputs, hidden, key, dtype };
  if (kind === "lstm") {
    const cell = LSTMCell(options);
    return { parameters: cell.parameters, step: cell };
  }
  if (kind !== "gru") throw new RangeError(`cell "${kind}" is unknown; there are gru, lstm`);
  const cell = GRUCell(options);
  // A GRU has no cell state.
  return {
    parameters: cell.parameters,
    step: (x, { h, c }) => ({ h: cell(x, h), c }),
  };
}

/**
 * A GRU or an LSTM that reads sequences `(batch, length, inputChannels)`; its output is linear in the state at the end,
 * `(batch, outputChannels)`, or in all of them, `(batch, length, outputChannels)`.
 *
 * @example
 * ```ts
 * import { key, normal, Recurrent } from "@weft/weft";
 *
 * const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 10 };
 * const model = Recurrent({ cell: "gru", ...sizes, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero.
 */
export function Recurrent(
  options: RecurrentModelOptions,
): Layer<[x: Tensor, options?: ReadoutOptions & StaticFeaturesCall], RecurrentParameters> {
  const { cell: kind, inputChannels, hiddenChannels, outputChannels, staticFeatures, key, dtype } = options;
  const [cellKey, readoutKey, staticKey] = split(key, 3);
  const cell = makeCell(kind, inputChannels, hiddenChannels, cellKey, dtype);
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: readoutKey, dtype });
  // h, and of an LSTM c.
  const stateFeatures = (kind === "lstm" ? 2 : 1) * hiddenChannels;
  const ofStatic = StaticState("Recurrent", staticFeatures, {
    outputs: stateFeatures,
    key: staticKey,
    dtype,
  });
  const parameters = { cell: cell.parameters, ...ofStatic.parameters, readout: readout.parameters };
  return layer(parameters, (x: Tensor, call: ReadoutOptions & StaticFeaturesCall = {}) => {
    checkReadout("Recurrent", call);
    checkSequences("Recurrent", x, inputChannels);
    const first = ofStatic.addTo(zeroState(x, stateFeatures), call.staticFeatures);
    const start = {
      h: first.slice(-1, 0, hiddenChannels),
      c: first.slice(-1, stateFeatures - hiddenChannels),
    };
    const shown = carryThrough("Recurrent", x, start, (input, state) => {
      const next = cell.step(input, state);
      return [next, next.h];
    });
    return readout(chooseStates("Recurrent", shown, call));
  });
}

/** Options of {@linkcode RecurrentForecaster}. */
export interface ForecasterOptions {
  /** The cell that carries the state. */
  cell: "gru" | "lstm";
  /** Channels of the sequences. */
  channels: number;
  /** Features of the state. */
  hiddenChannels: number;
  /** Whether a standard deviation is predicted beside the mean, from this upwards. Without it there is the mean alone. */
  leastDeviation?: number;
  /** Whether the time tau, from 0 to 1, is fed as another channel. `false` by default. */
  time?: boolean;
  /** Random key of the initial parameters. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** Options of a forecaster's call: its feeding. */
export interface ForecastCall {
  /** So many values are given, 1 at least, the default; after them the model is fed its own predictions. */
  context?: number;
  /**
   * Scheduled sampling (Bengio et al., 2015): the probability that a value after the context is given nevertheless. 0 by
   * default. In training it is given without a context: every step but the first is drawn.
   */
  forcing?: number;
  /** Whether values drawn from the predicted normal are fed, by reparameterisation, instead of its mean. `false` by default. */
  sample?: boolean;
  /** Random key of `forcing` and `sample`. */
  key?: Key;
}

/**
 * A GRU or an LSTM that predicts a sequence from its beginning, value by value: output number s of `(batch, length, ...)`
 * is about x_(s+1), and depends on what was fed up to s. With `leastDeviation` the outputs are the channels' means and then
 * their deviations.
 *
 * @example
 * ```ts
 * import { key, normal, RecurrentForecaster } from "@weft/weft";
 *
 * const model = RecurrentForecaster({ cell: "gru", channels: 2, hiddenChannels: 16, key: key(0) });
 * const x = normal(key(1), [32, 50, 2]);
 * model(x, { context: 10 }).shape; // (32, 50, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero, or `context` or `forcing` is out of range.
 */
export function RecurrentForecaster(
  options: ForecasterOptions,
): Layer<[x: Tensor, call: ForecastCall], RecurrentParameters> {
  const { cell: kind, channels, hiddenChannels, leastDeviation, time = false, key, dtype } = options;
  checkCount("RecurrentForecaster", "channels", channels);
  const [cellKey, readoutKey] = split(key);
  const cell = makeCell(kind, channels + Number(time), hiddenChannels, cellKey, dtype);
  const outputs = leastDeviation === undefined ? channels : 2 * channels;
  const readout = Linear({ inputs: hiddenChannels, outputs, key: readoutKey, dtype });
  const parameters = { cell: cell.parameters, readout: readout.parameters };

  const predict = (h: Tensor) => {
    const y = readout(h);
    if (leastDeviation === undefined) return y;
    const deviation = y.slice(-1, channels).softplus().maximum(leastDeviation);
    return concatenate([y.slice(-1, 0, channels), deviation], -1);
  };
  return layer(parameters, (x: Tensor, call: ForecastCall) => {
    checkSequences("RecurrentForecaster", x, channels);
    if (call.sample && leastDeviation === undefined) {
      throw new TypeError("RecurrentForecaster: sample needs a model with leastDeviation");
    }
    const [batch, length] = x.shape;
    const zero = zeroState(x, hiddenChannels);
    const rows = {
      x: x.transpose(0, 1),
      given: givenSteps(x, call),
      ...(time
        ? {
          tau: arange(length, { dtype: x.dtype }).div(Math.max(1, length - 1)).reshape([length, 1, 1])
            .broadcastTo([length, batch, 1]),
        }
        : {}),
      ...(call.sample
        ? { noise: normal(split(call.key!)[1], [length, batch, channels], { dtype: x.dtype }) }
        : {}),
    };
    const [, ys] = scan(
      (
        { state, fed }: { state: LSTMState; fed: Tensor },
        row: { x: Tensor; given: Tensor; tau?: Tensor; noise?: Tensor },
      ) => {
        const value = row.given.where(row.x, fed);
        const next = cell.step(row.tau ? concatenate([value, row.tau], -1) : value, state);
        const y = predict(next.h);
        const mean = y.slice(-1, 0, channels);
        const drawn = row.noise ? mean.add(y.slice(-1, channels).mul(row.noise)) : mean;
        return [{ state: next, fed: drawn }, y];
      },
      { state: { h: zero, c: zero }, fed: x.at(1, 0) },
      rows,
    );
    return (ys as Tensor).transpose(0, 1);
  });
}

/** Whether a value is fed as it was observed, bool `(length, batch, 1)`. */
function givenSteps(x: Tensor, { context = 1, forcing = 0, sample = false, key }: ForecastCall): Tensor {
  const [batch, length] = x.shape;
  if (!(Number.isInteger(context) && context >= 1 && context <= length)) {
    throw new RangeError(
      `RecurrentForecaster: context is ${context}, expected a whole number from 1 to the length ${length}`,
    );
  }
  if ((forcing > 0 || sample) && !key) {
    throw new TypeError("RecurrentForecaster: forcing and sample need a key to draw from");
  }
  const steps = arange(length, { dtype: "int32" }).reshape([length, 1, 1]).broadcastTo([length, batch, 1]);
  const inContext = steps.less(context);
  return forcing > 0 ? inContext.or(bernoulli(split(key!)[0], forcing, inContext.shape)) : inContext;
}
