/** Recurrent networks along sequences, used as baselines. */
import { checkOptions, namesOf } from "../device/options.ts";
import type { DType } from "../device/dtype.ts";
import { GRUCell } from "../nn/gru.ts";
import { type Layer, layer } from "../nn/layer.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { LSTMCell, type LSTMState } from "../nn/lstm.ts";
import type { MLPParameters } from "../nn/mlp.ts";
import { type GateParameters, scanSequences, zeroState } from "../nn/recurrent.ts";
import { checkWord } from "../tensor/checks.ts";
import { type Key, splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  Forecaster,
  forecasterBaseOptionNames,
  type ForecasterBaseOptions,
  type ForecasterModel,
} from "./forecaster.ts";
import { checkReadout, chooseStates, pathCallNames, type ReadoutOptions } from "./readout_states.ts";
import { checkSequences, sequenceOptionNames, type SequenceOptions, type StateSize } from "./sequences.ts";
import {
  type StaticFeaturesCallOptions,
  type StaticFeaturesOptions,
  StaticState,
} from "./static_features.ts";

/** Options of {@linkcode Recurrent}. */
export interface RecurrentModelOptions extends SequenceOptions, StateSize {
  /** The cell that carries the state. */
  cell: "gru" | "lstm";
  /**
   * A network of static features, which do not change over time. It computes the initial state, which is
   * otherwise zero. Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
}

const recurrentModelOptionNames = namesOf<RecurrentModelOptions>()(
  sequenceOptionNames,
  "cell hiddenChannels staticFeatures?",
);

/** Parameters of a {@linkcode Recurrent}. */
export type RecurrentParameters = {
  /** The cell that carries the state. */
  readonly cell: GateParameters;
  /** Network that computes the first state from static features, if the model has them. */
  readonly staticFeatures?: MLPParameters;
  /** Maps the state to the output. */
  readonly readout: LinearParameters;
};

/** A GRU or LSTM cell with the same interface. */
interface Cell {
  readonly parameters: GateParameters;
  step(x: Tensor, state: LSTMState): LSTMState;
}

function makeCell(
  model: string,
  kind: "gru" | "lstm",
  inputs: number,
  hidden: number,
  key: Key,
  dtype?: DType,
): Cell {
  checkWord(model, "cell", kind, ["gru", "lstm"]);
  const options = { inputs, hidden, key, dtype };
  if (kind === "lstm") {
    const cell = LSTMCell(options);
    return { parameters: cell.parameters, step: cell };
  }
  const cell = GRUCell(options);
  // A GRU has no cell state.
  return {
    parameters: cell.parameters,
    step: (x, { h, c }) => ({ h: cell(x, h), c }),
  };
}

/**
 * A GRU or an LSTM (Cho et al., 2014; Hochreiter and Schmidhuber, 1997) that reads sequences `(batch, length,
 * inputChannels)`. The output is linear in the final state, `(batch, outputChannels)`, or in all states,
 * `(batch, length, outputChannels)`.
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
 * @throws {RangeError} If a size is not a positive integer, or `cell` is unknown.
 */
export function Recurrent(
  options: RecurrentModelOptions,
): Layer<[x: Tensor, options?: ReadoutOptions & StaticFeaturesCallOptions], RecurrentParameters> {
  checkOptions("Recurrent", options, recurrentModelOptionNames);
  const { cell: kind, inputChannels, hiddenChannels, outputChannels, staticFeatures, key, dtype } = options;
  const [cellKey, readoutKey, staticKey] = splitKey(key, 3);
  const cell = makeCell("Recurrent", kind, inputChannels, hiddenChannels, cellKey, dtype);
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: readoutKey, dtype });
  // h, and for an LSTM also c.
  const stateFeatures = (kind === "lstm" ? 2 : 1) * hiddenChannels;
  const ofStatic = StaticState("Recurrent", staticFeatures, {
    outputs: stateFeatures,
    key: staticKey,
    dtype,
  });
  const parameters = { cell: cell.parameters, ...ofStatic.parameters, readout: readout.parameters };
  return layer(parameters, (x: Tensor, call: ReadoutOptions & StaticFeaturesCallOptions = {}) => {
    checkOptions("Recurrent", call, pathCallNames);
    checkReadout("Recurrent", call);
    checkSequences("Recurrent", x, inputChannels);
    const first = ofStatic.addTo(zeroState(x, stateFeatures), call.staticFeatures);
    const start = {
      h: first.slice(-1, 0, hiddenChannels),
      c: first.slice(-1, stateFeatures - hiddenChannels),
    };
    const shown = scanSequences("Recurrent", x, start, (input, state) => {
      const next = cell.step(input, state);
      return [next, next.h];
    });
    return readout(chooseStates("Recurrent", shown, call));
  });
}

/** Options of {@linkcode RecurrentForecaster}. */
export interface ForecasterOptions
  extends ForecasterBaseOptions, Pick<RecurrentModelOptions, "cell" | "hiddenChannels"> {}

const recurrentForecasterOptionNames = namesOf<ForecasterOptions>()(
  forecasterBaseOptionNames,
  "cell hiddenChannels",
);

/**
 * A {@linkcode Recurrent} network that forecasts a sequence value by value. Output s of `(batch, length, ...)`
 * predicts x_(s+1) from the inputs up to s. With `leastDeviation` the outputs are the means of the channels, followed
 * by their standard deviations.
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
 * @throws {RangeError} If a size is not a positive integer, `cell` is unknown, or `leastDeviation` is
 * negative. The model itself throws a {@linkcode RangeError} if `context` or `forcing` is out of range.
 */
export function RecurrentForecaster(
  forecasterOptions: ForecasterOptions,
): ForecasterModel<{ readonly cell: GateParameters }> {
  const name = "RecurrentForecaster";
  checkOptions(name, forecasterOptions, recurrentForecasterOptionNames);
  const { cell: kind, hiddenChannels, ...options } = forecasterOptions;
  return Forecaster<LSTMState, { readonly cell: GateParameters }>(name, (inputs, key) => {
    const cell = makeCell(name, kind, inputs, hiddenChannels, key, options.dtype);
    return {
      parameters: { cell: cell.parameters },
      features: hiddenChannels,
      start(x) {
        const zero = zeroState(x, hiddenChannels);
        return { h: zero, c: zero };
      },
      step(row, state) {
        const next = cell.step(row, state);
        return [next, next.h];
      },
    };
  }, options);
}
