import type { DType } from "../device/dtype.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkCount, type Layer, layer } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { checkPath, type Path } from "../paths/path.ts";
import { type CdeSolveOptions, solveAlong, timesBehind } from "../solvers/controlled.ts";
import { type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type StaticFeaturesCall, type StaticFeaturesOptions, StaticState } from "./static_features.ts";
import { type ReadoutOptions, solveAndRead } from "./readout_states.ts";

/** Options of {@linkcode GRUODE}; the solver's are among them. */
export interface GRUODEOptions extends CdeSolveOptions {
  /** Channels of the control, time included. */
  inputChannels: number;
  /** Features of the state h. */
  hiddenChannels: number;
  /** Features that are read out of a state. */
  outputChannels: number;
  /**
   * Whether h(t0) is linear in X(t0), `true` by default: the initial condition of theorem C.1. Otherwise it is zero, as in the
   * authors' code.
   */
  initial?: boolean;
  /** A network of features that do not change over time, which is added to h(t0): calls then need `staticFeatures`. */
  staticFeatures?: StaticFeaturesOptions;
  /** Random key of the initial parameters. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/**
 * A GRU-ODE (De Brouwer et al., "GRU-ODE-Bayes", 2019), the differential equation of a gated recurrent unit with a control as its
 * input, which Kidger et al., "Neural Controlled Differential Equations for Irregular Time Series", 2020, section 4, compare
 * with; an equation dh/dt = h(h, X(t)) as of their theorem C.1, and a direct neural ODE, equation 8 of Irie et al., 2022:
 *
 *     r = sigmoid(W_r x + U_r h + b_r),  u = sigmoid(W_u x + U_u h + b_u),  g = tanh(W_g x + U_g (r h) + b_g)
 *     dh/dt = (1 - u) (g - h)
 *
 * with x = X(t). The authors' code reads X(t) - X(t0), the state of a Neural CDE that contains this equation.
 *
 * It takes a control with values `(..., inputChannels)` and returns `(..., outputChannels)`, linear in h at the end, or
 * `(..., length, outputChannels)` for all states.
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
 * @throws {RangeError} If a size is not a whole number above zero.
 */
export function GRUODE(
  options: GRUODEOptions,
): Layer<[X: Path, options?: ReadoutOptions & StaticFeaturesCall]> {
  const { inputChannels, hiddenChannels, outputChannels, initial: hasInitial = true, ...rest } = options;
  const { staticFeatures, key, dtype, ...solver } = rest;
  checkCount("GRUODE", "hiddenChannels", hiddenChannels);
  const keys = split(key, 6);
  const hidden = hiddenChannels;
  const fromInput = Linear({
    inputs: inputChannels,
    outputs: 3 * hidden,
    bias: false,
    key: keys[0],
    dtype,
  });
  const gates = Linear({ inputs: hidden, outputs: 2 * hidden, key: keys[1], dtype });
  const candidate = Linear({ inputs: hidden, outputs: hidden, key: keys[2], dtype });
  const initial = hasInitial
    ? Linear({ inputs: inputChannels, outputs: hidden, key: keys[3], dtype })
    : undefined;
  const ofStatic = StaticState("GRUODE", staticFeatures, { outputs: hidden, key: keys[4], dtype });
  const readout = Linear({ inputs: hidden, outputs: outputChannels, key: keys[5], dtype });
  const field = (x: Tensor, h: Tensor) => {
    const input = fromInput(x);
    const both = input.slice(-1, 0, 2 * hidden).add(gates(h)).sigmoid();
    const [reset, update] = [both.slice(-1, 0, hidden), both.slice(-1, hidden)];
    const g = input.slice(-1, 2 * hidden).add(candidate(reset.mul(h))).tanh();
    return update.neg().add(1).mul(g.sub(h));
  };

  const parameters = {
    vectorField: {
      input: fromInput.parameters,
      gates: gates.parameters,
      candidate: candidate.parameters,
    },
    ...(initial ? { initial: initial.parameters } : {}),
    ...ofStatic.parameters,
    readout: readout.parameters,
  };
  return layer(parameters, (X: Path, call: ReadoutOptions & StaticFeaturesCall = {}) => {
    checkPath("GRUODE", X);
    const x0 = X.evaluate(X.times[0]);
    if (x0.shape.at(-1) !== inputChannels) {
      throw new ShapeError(
        `GRUODE: the control has values of shape ${formatShape(x0.shape)}, expected (..., ${inputChannels})`,
      );
    }
    const zero = fromInput(x0).slice(-1, 0, hidden).zerosLike();
    const first = initial ? initial(x0) : zero;
    const h0 = ofStatic.addTo(first, call.staticFeatures);
    return solveAndRead("GRUODE", X, call, readout, (times) => {
      const h = solveAlong(X, (control, _t, h) => field(control.evaluate(), h), h0, times, solver, "GRUODE");
      return timesBehind(h, h.rank - 2);
    });
  });
}
