import { checkOptions, namesOf } from "../../device/options.ts";
import { scan } from "../../compile/loop/scan.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { zeroState } from "../../nn/recurrent.ts";
import { checkWord } from "../../tensor/checks.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { irregularCallNames, type IrregularGRUCallOptions } from "../irregular_gru.ts";
import { type StaticFeaturesOptions, StaticState } from "../static_features.ts";
import { checkReadout, chooseStates } from "../readout_states.ts";
import { checkSequences, sequenceOptionNames, type SequenceOptions, toTimeMajor } from "../sequences.ts";
import {
  type ODERecurrentOptions,
  type ODERecurrentState,
  recurrentCell,
  recurrentOptionNames,
  whereObserved,
} from "./ode_recurrent_cell.ts";

/** Options of {@linkcode ODERFWP}. */
export interface ODERFWPOptions extends ODERecurrentOptions, SequenceOptions {
  /**
   * Whether an observation updates the fast weights `"after"` the differential equation was solved up to its
   * time (default, as in equations 26 and 27), or `"before"` the equation is solved from its time on, an
   * option of the authors' code. With `"before"`, the states that are read out belong to the time of the next
   * row.
   */
  update?: "after" | "before";
  /**
   * A network of static features, which do not change over time. It computes the initial recurrent states.
   * Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
}

const odeRFWPOptionNames = namesOf<ODERFWPOptions>()(
  recurrentOptionNames,
  sequenceOptionNames,
  "update? staticFeatures?",
);

/**
 * An ODE-RFWP (Irie et al., 2022, equations 26 and 27): a continuous-time recurrent fast weight programmer
 * without a control. Between observations a differential equation carries the recurrent state: u_n = h(t_n)
 * with dh/dt = f(h) from h_(n-1). At an observation, x_n and u_n drive one discrete update of the fast
 * weights, whose output is the next state:
 *
 *     W_n = W_(n-1) + rule(k_n, v_n, beta_n, W_(n-1)),  h_n = block(W_n q_n)
 *
 * with k_n, v_n, beta_n and q_n linear in the features of x_n and in tanh(u_n), as in equation 27. (In the
 * authors' code q_n is linear in the features of x_n alone: `queryFeedback: false`.) Fast weights and
 * recurrent state start at zero. With static features, a network computes the initial recurrent state.
 *
 * The model takes sequences `(batch, length, inputChannels)` without missing values, and the gaps between
 * rows. Use the same time unit for training and prediction. The output is linear in the final state, `(batch,
 * outputChannels)`, or in all states, `(batch, length, outputChannels)`.
 *
 * @example
 * ```ts
 * import { key, normal, ODERFWP, tensor } from "@weft/weft";
 *
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, width: 16, depth: 1 };
 * const model = ODERFWP({ ...sizes, key: key(1) });
 * model(normal(key(0), [8, 5, 3]), { gaps: tensor([0, 0.1, 0.7, 0.2, 1]) }).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`depth` may be zero), `modelDim` is not a
 * multiple of `heads`, the method is neither fixed-step nor adaptive, or `update` has an unknown value.
 * @throws {TypeError} If `rule` is not a function.
 */
export function ODERFWP(options: ODERFWPOptions): Layer<[x: Tensor, call: IrregularGRUCallOptions]> {
  checkOptions("ODERFWP", options, odeRFWPOptionNames);
  const { inputChannels, modelDim, layers = 1, outputChannels, update = "after", staticFeatures, dtype } =
    options;
  checkWord("ODERFWP", "update", update, ["after", "before"]);
  const keys = splitKey(options.key, 3);
  const cell = recurrentCell("ODERFWP", { ...options, key: keys[0] });
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key: keys[1], dtype });
  const ofStatic = StaticState("ODERFWP", staticFeatures, {
    ...{ outputs: layers * modelDim, key: keys[2], dtype },
  });
  const parameters = {
    ...cell.parameters,
    ...ofStatic.parameters,
    readout: readout.parameters,
  };
  return layer(parameters, (x: Tensor, call: Partial<IrregularGRUCallOptions> = {}) => {
    checkOptions("ODERFWP", call, irregularCallNames);
    checkReadout("ODERFWP", call);
    checkSequences("ODERFWP", x, inputChannels);
    const h = ofStatic.addTo(zeroState(x, layers * modelDim), call.staticFeatures);
    const gaps = toTimeMajor("ODERFWP: gaps", call.gaps, x);
    const rows = {
      x: x.transpose(0, 1),
      // Gaps since the previous row, or until the next row.
      gap: update === "after" ? gaps : gaps.slice(0, 1).pad([[0, 1], [0, 0], [0, 0]]),
      observed: call.observed && toTimeMajor("ODERFWP: observed", call.observed, x),
    };
    const [, shown] = scan(
      (state: ODERecurrentState, { x, gap, observed }: typeof rows) => {
        const before = update === "after" ? cell.evolve(state, gap) : state;
        const seen = whereObserved(observed, cell.observe(before, x), before);
        const next = update === "after" ? seen : cell.evolve(seen, gap);
        return [next, next.h.at(-1)!];
      },
      { ...cell.start(x), h: inLayers(h, layers) },
      rows,
      { compile: cell.compiles },
    );
    return readout(chooseStates("ODERFWP", (shown as Tensor).transpose(0, 1), call));
  });
}

/** Splits features `(batch, layers * features)` into one tensor per layer. */
export function inLayers(x: Tensor, layers: number): Tensor[] {
  const features = x.shape.at(-1)! / layers;
  return Array.from({ length: layers }, (_, l) => x.slice(-1, l * features, (l + 1) * features));
}
