import { checkOptions, namesOf } from "../device/options.ts";
import { scan } from "../compile/loop/scan.ts";
import type { DType } from "../device/dtype.ts";
import { GRUCell } from "../nn/gru.ts";
import { type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { zeroState } from "../nn/recurrent.ts";
import { type Key, splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { betweenObservations, betweenOptionNames, type BetweenOptions } from "./between_observations.ts";
import { type StaticFeaturesCallOptions, StaticState } from "./static_features.ts";
import { checkReadout, chooseStates, pathCallNames, type ReadoutOptions } from "./readout_states.ts";
import { checkSequences, sequenceOptionNames, toTimeMajor } from "./sequences.ts";
import type { RecurrentModelOptions } from "./recurrent.ts";

/** Options of {@linkcode IrregularGRU}. */
export interface IrregularGRUOptions extends Omit<RecurrentModelOptions, "cell"> {
  /**
   * How the state changes between two observations: `"nothing"` (default; GRU-dt, with the gap as an input
   * channel); `"decay"`, h exp(-relu(w gap + b)) (GRU-D, Che et al., 2018); or options of a differential
   * equation whose vector field is a perceptron with tanh, solved by default with one step of `rk4` (ODE-RNN,
   * Rubanova et al., 2019).
   */
  between?: "nothing" | "decay" | BetweenOptions;
}

const irregularGRUOptionNames = namesOf<IrregularGRUOptions>()(
  sequenceOptionNames,
  "hiddenChannels between? staticFeatures?",
);

/** Options of a call. */
export interface IrregularGRUCallOptions extends ReadoutOptions, StaticFeaturesCallOptions {
  /** Time since the previous row, 0 at the first row: `(length)` or `(batch, length)`. */
  gaps: Tensor;
  /**
   * Whether a row of a series updates its state, bool `(length)` or `(batch, length)`. By default all rows
   * do.
   */
  observed?: Tensor;
}

export const irregularCallNames = namesOf<Partial<IrregularGRUCallOptions>>()(
  pathCallNames,
  "gaps? observed?",
);

/**
 * Recurrent baselines for irregular series (Kidger et al., "Neural Controlled Differential Equations for
 * Irregular Time Series", 2020, section 4; equations 9 and 10 of Irie et al., 2022). A GRU updates the state at
 * each observation, and the state evolves between observations:
 *
 *     h' = E(h, gap),  h_t = GRU(x_t, h') where row t was observed, h' elsewhere
 *
 * with E(h, gap) = h (GRU-dt), h exp(-relu(w gap + b)) with a rate for each feature (GRU-D), or the final
 * state of a solve of dh/dt = f(h) over the gap (ODE-RNN). For all three, the input channels should include
 * the time since the last observation and, for observational intensity, a mask of each row. The model takes
 * sequences `(batch, length, inputChannels)` without missing values: the paper fills them in with natural
 * cubic splines, whereas Che et al. let them decay to the mean. The output is linear in the final state,
 * `(batch, outputChannels)`, or in all states, `(batch, length, outputChannels)`.
 *
 * @example
 * ```ts
 * import { IrregularGRU, key, normal, tensor } from "@weft/weft";
 *
 * const sizes = { inputChannels: 3, hiddenChannels: 16, outputChannels: 2 };
 * const model = IrregularGRU({ ...sizes, between: { width: 16, depth: 1 }, key: key(0) }); // an ODE-RNN
 * const gaps = tensor([0, 0.1, 0.7, 0.2, 1]);
 * model(normal(key(1), [8, 5, 3]), { gaps }).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer.
 */
export function IrregularGRU(
  options: IrregularGRUOptions,
): Layer<[x: Tensor, call: IrregularGRUCallOptions]> {
  checkOptions("IrregularGRU", options, irregularGRUOptionNames);
  const { inputChannels, hiddenChannels, outputChannels, between = "nothing", staticFeatures } = options;
  const { key, dtype } = options;
  const [cellKey, readoutKey, betweenKey, staticKey] = splitKey(key, 4);
  const cell = GRUCell({ inputs: inputChannels, hidden: hiddenChannels, key: cellKey, dtype });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: readoutKey, dtype });
  const { parameters: evolutionParameters, evolve, compiles } = makeEvolution(
    between,
    hiddenChannels,
    betweenKey,
    dtype,
  );
  const ofStatic = StaticState("IrregularGRU", staticFeatures, {
    ...{ outputs: hiddenChannels, key: staticKey, dtype },
  });
  const parameters: ParameterTree = {
    cell: cell.parameters,
    readout: readout.parameters,
    ...evolutionParameters,
    ...ofStatic.parameters,
  };
  return layer(parameters, (x: Tensor, call: Partial<IrregularGRUCallOptions> = {}) => {
    checkOptions("IrregularGRU", call, irregularCallNames);
    checkReadout("IrregularGRU", call);
    const { gaps, observed } = call;
    checkSequences("IrregularGRU", x, inputChannels);
    const first = ofStatic.addTo(zeroState(x, hiddenChannels), call.staticFeatures);
    const rows = {
      x: x.transpose(0, 1),
      gap: toTimeMajor("IrregularGRU: gaps", gaps, x),
      observed: observed && toTimeMajor("IrregularGRU: observed", observed, x),
    };
    const [, hs] = scan(
      (h: Tensor, row: typeof rows) => {
        const before = evolve(h, row.gap);
        const after = cell(row.x, before);
        const next = row.observed ? row.observed.where(after, before) : after;
        return [next, next];
      },
      first,
      rows,
      { compile: compiles },
    );
    return readout(chooseStates("IrregularGRU", (hs as Tensor).transpose(0, 1), call));
  });
}

/** How a state `(batch, hidden)` changes over gaps `(batch, 1)` between observations. */
interface Evolution {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Whether a loop over observations can be compiled. */
  readonly compiles: boolean;
  evolve(h: Tensor, gap: Tensor): Tensor;
}

function makeEvolution(
  between: NonNullable<IrregularGRUOptions["between"]>,
  hidden: number,
  key: Key,
  dtype?: DType,
): Evolution {
  if (between === "nothing") return { parameters: {}, compiles: true, evolve: (h) => h };
  if (between === "decay") {
    const decay = Linear({ inputs: 1, outputs: hidden, key, dtype });
    return {
      parameters: { decay: decay.parameters },
      compiles: true,
      evolve: (h, gap) => h.mul(decay(gap).relu().neg().exp()),
    };
  }
  if (typeof between !== "object") {
    throw new RangeError(
      `IrregularGRU: between is "${between}", expected "nothing", "decay" or { width, depth } of a vector field`,
    );
  }
  checkOptions("IrregularGRU: between", between, betweenOptionNames);
  const { parameters, compiles, evolve } = betweenObservations("IrregularGRU", {
    ...{ ...between, features: hidden, key, dtype },
  });
  return { parameters: { vectorField: parameters }, compiles, evolve };
}
