import { Linear } from "../nn/linear.ts";
import { splitKey } from "../tensor/random.ts";
import { alongControl, type AlongControlModel } from "./along_control.ts";
import {
  checkControlled,
  controlledOptionNames,
  type ControlledOptions,
  hiddenState,
} from "./hidden_state.ts";

/**
 * A GRU-ODE (De Brouwer et al., "GRU-ODE-Bayes", 2019): the differential equation of a gated recurrent unit
 * with a control as its input. It is a baseline of Kidger et al., "Neural Controlled Differential Equations
 * for Irregular Time Series", 2020, section 4, an equation dh/dt = f(h, X(t)) as in their theorem C.1, and a
 * direct neural ODE, equation 8 of Irie et al., 2022:
 *
 *     r = sigmoid(W_r x + U_r h + b_r),  u = sigmoid(W_u x + U_u h + b_u),  g = tanh(W_g x + U_g (r h) + b_g)
 *     dh/dt = (1 - u) (g - h)
 *
 * with x = X(t). The authors' code reads X(t) - X(t0), the state of a Neural CDE that contains this equation.
 *
 * The model takes a control with values `(..., inputChannels)`. It returns `(..., outputChannels)`, linear in
 * h at the end, or `(..., length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { CubicSpline, GRUODE, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const model = GRUODE({ inputChannels: 3, hiddenChannels: 16, outputChannels: 2, key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer.
 */
export function GRUODE(options: GRUODEOptions): AlongControlModel {
  checkControlled("GRUODE", options, controlledOptionNames);
  const { inputChannels, hiddenChannels: hidden, key, dtype } = options;
  const [inputKey, gatesKey, candidateKey, initial, staticFeatures, readout] = splitKey(key, 6);
  const sizes = { inputs: inputChannels, outputs: 3 * hidden };
  const fromInput = Linear({ ...sizes, bias: false, key: inputKey, dtype });
  const gates = Linear({ inputs: hidden, outputs: 2 * hidden, key: gatesKey, dtype });
  const candidate = Linear({ inputs: hidden, outputs: hidden, key: candidateKey, dtype });
  const equation = hiddenState("GRUODE", options, { initial, staticFeatures, readout }, {
    parameters: {
      input: fromInput.parameters,
      gates: gates.parameters,
      candidate: candidate.parameters,
    },
    slope(read, h) {
      const input = fromInput(read("value"));
      const both = input.slice(-1, 0, 2 * hidden).add(gates(h)).sigmoid();
      const [reset, update] = [both.slice(-1, 0, hidden), both.slice(-1, hidden)];
      const g = input.slice(-1, 2 * hidden).add(candidate(reset.mul(h))).tanh();
      return update.neg().add(1).mul(g.sub(h));
    },
  });
  return alongControl("GRUODE", options, equation);
}

/** Options of {@linkcode GRUODE}, including those of the solver. */
export type GRUODEOptions = ControlledOptions;
