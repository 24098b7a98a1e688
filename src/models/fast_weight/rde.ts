import { checkOptions, namesOf } from "../../device/options.ts";
import { Linear } from "../../nn/linear.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { checkWord } from "../../tensor/checks.ts";
import { foldIn } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Reading } from "../along_control.ts";
import { alongWindows, type WindowedModel } from "../cde/along_windows.ts";
import { fastWeightEquation } from "./fast_weight.ts";
import {
  type FastWeightCallOptions,
  fastWeightModelOptionNames,
  type FastWeightModelOptions,
} from "./options.ts";

/**
 * Fast weights along log-signatures (Irie et al., 2022, section 4 and table 2, after Morrill et al., "Neural
 * Rough Differential Equations for Long Time Series", 2021). For long series, x in equations 18 to 21, or x
 * and x' in equations 23 to 25, are replaced by the log-signature of the window that contains s. W(t0) is the
 * rule evaluated on a linear map of the first observation, or computed by a network of static features. See
 * {@linkcode FastWeight} for shapes.
 *
 * The model takes the path of the windows, whose derivative is the sequence of log-signatures. Its times are
 * 0, 1, ..., windows. By default one step of `rk4` crosses one window, and all its stages read that window.
 * (The authors' code takes one more step, again in the last window.)
 *
 * @example
 * ```ts
 * import { addTime, deltaRule, FastWeightRDE, key, LinearInterpolation, logsigWindows, normal } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [8, 1001, 2])); // (batch, length, channels)
 * const X = LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 5 };
 * const model = FastWeightRDE({ ...sizes, depth: 2, rule: deltaRule({ postTanh: true }), key: key(1) });
 * model(X).shape; // (8, 5)
 * ```
 *
 * @param options `inputChannels` are the channels of the original series.
 * @throws {RangeError} As {@linkcode FastWeight}, or if `depth` is not 1 to 4.
 */
export function FastWeightRDE(options: FastWeightRDEOptions): WindowedModel<FastWeightCallOptions> {
  checkOptions("FastWeightRDE", options, fastWeightRDEOptionNames);
  const { depth, form = "ode", queryFrom = "last", inputChannels, ...rest } = options;
  checkWord("FastWeightRDE", "form", form, ["ode", "cde"]);
  checkWord("FastWeightRDE", "queryFrom", queryFrom, ["last", "initial"]);
  const words = logsignatureChannels(inputChannels, depth);
  const valuesFrom = form === "ode" ? "keys" : "value";
  const equation = fastWeightEquation("FastWeightRDE", { ...rest, valuesFrom, inputChannels: words });
  const initial = Linear({
    ...{ inputs: inputChannels, outputs: words, key: foldIn(options.key, 1), dtype: options.dtype },
  });
  // The path starts with the first observation, followed by zeros for the longer words.
  const embedFirst = (read: Reading) => initial(read("value").slice(-1, 0, inputChannels));
  const constant = (control: Tensor): Reading => () => control;
  return alongWindows("FastWeightRDE", options, {
    ...equation,
    parameters: {
      ...equation.parameters,
      ...(options.staticFeatures && queryFrom === "last" ? {} : { initial: initial.parameters }),
    },
    start: (read, features) => equation.start(features ? read : constant(embedFirst(read)), features),
    output: (read, w, key, first) =>
      equation.output(constant(queryFrom === "last" ? read("derivative") : embedFirst(first!)), w, key),
  });
}

/** Options of {@linkcode FastWeightRDE}. */
export interface FastWeightRDEOptions extends FastWeightModelOptions {
  /** Depth of the log-signatures, 1 to 4. The paper uses 1 and 2. */
  depth: number;
  /**
   * `"ode"` (default): one network computes keys, values and learning rates. `"cde"`: a separate projection
   * computes the values, as in a {@linkcode FastWeightCDE} from x' alone.
   *
   * @default {"ode"}
   */
  form?: "ode" | "cde";
  /**
   * Whether to apply a layer norm and a second linear map after the projection of the values in the form
   * `"cde"`, as in the authors' code for EigenWorms. `false` by default, as in the paper.
   *
   * @default {false}
   */
  normalizeValues?: boolean;
  /**
   * Input of the query: `"last"` (default), the log-signature of the last window, x(T) of equation 19;
   * `"initial"`, the linear map of the first observation from which W(t0) is computed, an option of the
   * authors' code for EigenWorms.
   *
   * @default {"last"}
   */
  queryFrom?: "last" | "initial";
}

const fastWeightRDEOptionNames = namesOf<FastWeightRDEOptions>()(
  fastWeightModelOptionNames,
  "depth form? normalizeValues? queryFrom?",
);
