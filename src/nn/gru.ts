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

/**
 * A gated recurrent unit (Cho et al., 2014), as PyTorch's `GRUCell`. The layer takes an input `(..., inputs)`
 * and a state `(..., hidden)`, and returns the next state:
 *
 *     r, z = sigmoid(W x + b + U h + c),  n = tanh(W_n x + b_n + r (U_n h + c_n)),  h' = (1 - z) n + z h
 *
 * The weights hold the gates r, z and n in that order, as a PyTorch `state_dict` does.
 *
 * @throws {RangeError} If `inputs` or `hidden` is not a whole number above zero.
 */
export function GRUCell(options: RecurrentOptions): Layer<[x: Tensor, h: Tensor], GateParameters> {
  checkOptions("GRUCell", options, recurrentOptionNames);
  const { inputs, hidden } = options;
  const parameters = gateParameters("GRUCell", 3, options);
  return layer(parameters, (x: Tensor, h: Tensor) => {
    checkFeatures("GRUCell", x, inputs);
    const [fromInput, fromState] = gatedProducts(parameters, x, h);
    const part = (of: Tensor, gate: number) => of.slice(-1, gate * hidden, (gate + 1) * hidden);
    const gates = fromInput.slice(-1, 0, 2 * hidden).add(fromState.slice(-1, 0, 2 * hidden)).sigmoid();
    const [reset, keep] = [part(gates, 0), part(gates, 1)];
    const candidate = part(fromInput, 2).add(reset.mul(part(fromState, 2))).tanh();
    return candidate.add(keep.mul(h.sub(candidate)));
  });
}

/**
 * Applies a {@linkcode GRUCell} along sequences `(batch, length, inputs)`, from a state of zeros. Returns all
 * states `(batch, length, hidden)`, as PyTorch's `GRU` with `batch_first`. Runs as one compiled loop.
 *
 * @example
 * ```ts
 * import { GRU, key, normal } from "@weft/weft";
 *
 * const gru = GRU({ inputs: 3, hidden: 8, key: key(0) });
 * gru(normal(key(1), [16, 20, 3])).shape; // (16, 20, 8)
 * ```
 *
 * @throws {RangeError} If `inputs` or `hidden` is not a whole number above zero.
 */
export function GRU(options: RecurrentOptions): Layer<[x: Tensor], GateParameters> {
  checkOptions("GRU", options, recurrentOptionNames);
  const cell = GRUCell(options);
  return layer(cell.parameters, (x: Tensor) => {
    checkFeatures("GRU", x, options.inputs);
    return scanSequences("GRU", x, zeroState(x, options.hidden), (input, h) => {
      const next = cell(input, h);
      return [next, next];
    });
  });
}
