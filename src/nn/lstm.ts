import { checkOptions } from "../device/options.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkFeatures, type Layer, layer } from "./layer.ts";
import {
  gatedProducts,
  type GateParameters,
  gateParameters,
  recurrentOptionNames,
  type RecurrentOptions,
  scanSequences,
  zeroState,
} from "./recurrent.ts";

/** The state of an LSTM: the hidden state h and the cell state c, each `(..., hidden)`. */
export type LSTMState = { readonly h: Tensor; readonly c: Tensor };

/** A long short-term memory cell: a function of an input and a state that returns the next state. */
export type LSTMCellLayer = ((x: Tensor, state: LSTMState) => LSTMState) & {
  /** The parameters. An optimizer updates them in place. */
  readonly parameters: GateParameters;
};

/**
 * A long short-term memory (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000), as
 * PyTorch's `LSTMCell`. Maps an input `(..., inputs)` and a state `{ h, c }`, each `(..., hidden)`, to the
 * next state:
 *
 *     i, f, o = sigmoid(W x + b + U h + d),  g = tanh(W_g x + b_g + U_g h + d_g),  c' = f c + i g,  h' = o tanh(c')
 *
 * The weights hold the gates i, f, g and o in that order, as a PyTorch `state_dict` does.
 *
 * @throws {RangeError} If `inputs` or `hidden` is not a whole number above zero.
 */
export function LSTMCell(options: RecurrentOptions): LSTMCellLayer {
  checkOptions("LSTMCell", options, recurrentOptionNames);
  const { inputs, hidden } = options;
  const parameters = gateParameters("LSTMCell", 4, options);
  const step = (x: Tensor, { h, c }: LSTMState): LSTMState => {
    checkFeatures("LSTMCell", x, inputs);
    const [fromInput, fromState] = gatedProducts(parameters, x, h);
    const sum = fromInput.add(fromState);
    const part = (gate: number) => sum.slice(-1, gate * hidden, (gate + 1) * hidden);
    const kept = part(1).sigmoid().mul(c).add(part(0).sigmoid().mul(part(2).tanh()));
    return { h: part(3).sigmoid().mul(kept.tanh()), c: kept };
  };
  return Object.assign(step, { parameters });
}

/**
 * Applies an {@linkcode LSTMCell} along sequences `(batch, length, inputs)`, from a state of zeros. Returns
 * the hidden states `(batch, length, hidden)`, as PyTorch's `LSTM` with `batch_first`. Runs as one compiled
 * loop.
 *
 * @example
 * ```ts
 * import { key, LSTM, normal } from "@weft/weft";
 *
 * const lstm = LSTM({ inputs: 3, hidden: 8, key: key(0) });
 * lstm(normal(key(1), [16, 20, 3])).shape; // (16, 20, 8)
 * ```
 *
 * @throws {RangeError} If `inputs` or `hidden` is not a whole number above zero.
 */
export function LSTM(options: RecurrentOptions): Layer<[x: Tensor], GateParameters> {
  checkOptions("LSTM", options, recurrentOptionNames);
  const cell = LSTMCell(options);
  return layer(cell.parameters, (x: Tensor) => {
    checkFeatures("LSTM", x, options.inputs);
    const zero = zeroState(x, options.hidden);
    return scanSequences("LSTM", x, { h: zero, c: zero }, (input, state) => {
      const next = cell(input, state);
      return [next, next.h];
    });
  });
}
