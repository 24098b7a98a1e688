import { checkOptions } from "../../device/options.ts";
import { fastWeightRDEOptionNames } from "./option_names.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import type { Path } from "../../paths/path.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { rdeint } from "../../solvers/rdeint.ts";
import { checkWord } from "../../tensor/checks.ts";
import { foldIn } from "../../tensor/random.ts";
import type { FastWeightCall } from "./along_control.ts";
import { fastWeightAlongControl, type FastWeightModelOptions } from "./fast_weight.ts";
import type { WeightEquation } from "./layers.ts";
import type { Reading } from "./slow_network.ts";

/** Options of {@linkcode FastWeightRDE}. */
export interface FastWeightRDEOptions extends FastWeightModelOptions {
  /** Depth of the log-signatures: 1 or 2 in the paper, 4 at most. */
  depth: number;
  /**
   * `"ode"`, the default: keys, values and rates from one network. `"cde"`: values by a projection of their own, as those of
   * a {@linkcode FastWeightCDE} from x' alone.
   */
  form?: "ode" | "cde";
  /**
   * Whether a layer norm and a second linear map follow the values' projection in the form `"cde"`: as in the authors' code for
   * EigenWorms. `false` by default: as in the paper.
   */
  normalizeValues?: boolean;
  /**
   * The query's input: `"last"`, the default, the log-signature of the last window, x(T) of equation 19; `"initial"`, the linear map
   * of the first observation that W(t0) is made of, which is an option of the authors' code for EigenWorms.
   */
  queryFrom?: "last" | "initial";
}

/**
 * Fast weights along log-signatures (Irie et al., 2022, section 4 and table 2, after Morrill et al., "Neural Rough Differential
 * Equations for Long Time Series", 2021): for long series, x in equations 18 to 21, or x and x' in equations 23 to 25, are
 * replaced by the log-signature of the window that s is in. W(t0) is the rule evaluated on a linear map of the first
 * observation, or made by a network of static features. See {@linkcode FastWeight} for shapes.
 *
 * The model takes the path of the windows, whose derivative the log-signatures are: its times are 0, 1, ..., windows. A step
 * crosses one window by default, by `rk4`, and all its stages see that window. (The authors' code goes on for one more step,
 * in the last window again.)
 *
 * @example
 * ```ts
 * import { addTime, delta, FastWeightRDE, key, LinearInterpolation, logsigWindows, normal } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [8, 1001, 2])); // (batch, length, channels)
 * const X = LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 5 };
 * const model = FastWeightRDE({ ...sizes, depth: 2, rule: delta({ postTanh: true }), key: key(1) });
 * model(X).shape; // (8, 5)
 * ```
 *
 * @param options `inputChannels` are those of the series, before log-signatures.
 * @throws {RangeError} As {@linkcode FastWeight}, or if `depth` is not 1 to 4.
 */
export function FastWeightRDE(options: FastWeightRDEOptions): Layer<[X: Path, options?: FastWeightCall]> {
  checkOptions("FastWeightRDE", options, fastWeightRDEOptionNames);
  const { depth, form = "ode", queryFrom = "last", inputChannels, key, dtype, ...rest } = options;
  checkWord("FastWeightRDE", "form", form, ["ode", "cde"]);
  checkWord("FastWeightRDE", "queryFrom", queryFrom, ["last", "initial"]);
  const words = logsignatureChannels(inputChannels, depth);
  const initial = Linear({ inputs: inputChannels, outputs: words, key: foldIn(key, 1), dtype });
  // The path begins with the first observation, and zeros for the longer words.
  const embedFirst = (read: Reading) => initial(read("value").slice(-1, 0, inputChannels));
  const change = (equation: WeightEquation): WeightEquation => ({
    ...equation,
    parameters: {
      ...equation.parameters,
      ...(rest.staticFeatures && queryFrom === "last" ? {} : { initial: initial.parameters }),
    },
    start(read, features) {
      if (features) return equation.start(read, features);
      const first = embedFirst(read);
      return equation.start(() => first);
    },
    answer(read, w, key, first) {
      if (queryFrom === "last") return equation.answer(() => read("derivative"), w, key);
      const embedded = embedFirst(first!);
      return equation.answer(() => embedded, w, key);
    },
  });
  const valuesFrom = form === "ode" ? "keys" : "value";
  const model = fastWeightAlongControl(
    "FastWeightRDE",
    { ...rest, valuesFrom, inputChannels: words, key, dtype },
    {
      change,
      solve: (X, slope, w0, times, options) =>
        rdeint(X, (logsignature, w) => slope(() => logsignature, w), w0, times, options),
    },
  );
  // Without a stream: a window's log-signature is not known before its end.
  return layer(model.parameters, (X: Path, call?: FastWeightCall) => model(X, call));
}
