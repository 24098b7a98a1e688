import { type Layer, layer } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import type { Path } from "../../paths/path.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { foldIn } from "../../tensor/random.ts";
import type { FastWeightCall } from "./along_control.ts";
import { fastWeightAlongControl, type FastWeightModelOptions } from "./fast_weight.ts";
import type { WeightEquation } from "./layers.ts";

/** Options of {@linkcode FastWeightRDE}. */
export interface FastWeightRDEOptions extends FastWeightModelOptions {
  /** Of the log-signatures: 1 or 2 in the paper, 4 at most. */
  depth: number;
  /**
   * `"ode"`, the default: keys, values and rates from one network. `"cde"`: values by a projection of their own, as those of
   * a {@linkcode FastWeightCDE} from x' alone.
   */
  form?: "ode" | "cde";
}

/**
 * Fast weights along log-signatures (Irie et al., 2022, table 2, after Morrill et al., "Neural Rough Differential Equations
 * for Long Time Series", 2021): for long series, x and x' are both replaced by the log-signature of the window that s is in.
 * W(t0) is the rule evaluated on a linear map of the first observation. See {@linkcode FastWeight} for shapes.
 *
 * The model takes the path of the windows, whose derivative the log-signatures are: its times are 0, 1, ..., windows, and a
 * step crosses one window by default. The method is `heun3` unless another is given: like `euler`, `midpoint` and `ralston`
 * it looks at no step's end, so that all stages are in the step's window; others give the last stage the window after.
 *
 * @example
 * ```ts
 * import { addTime, delta, FastWeightRDE, key, LinearInterpolation, logsigWindows, normal } from "@weft/weft";
 *
 * const x = addTime(normal(key(0), [8, 1001, 2])); // (batch, length, channels)
 * const X = new LinearInterpolation(logsigWindows(x, 2, 50)); // 20 windows
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 5 };
 * const model = FastWeightRDE({ ...sizes, depth: 2, rule: delta({ postTanh: true }), key: key(1) });
 * model(X).shape; // (8, 5)
 * ```
 *
 * @param options `inputChannels` are those of the series, before log-signatures.
 */
export function FastWeightRDE(options: FastWeightRDEOptions): Layer<[X: Path, options?: FastWeightCall]> {
  const { depth, form = "ode", method = "heun3", inputChannels, key, dtype, ...rest } = options;
  const words = logsignatureChannels(inputChannels, depth);
  const initial = Linear({ inputs: inputChannels, outputs: words, key: foldIn(key, 1), dtype });
  const sources = { keysFrom: "derivative", valuesFrom: form === "ode" ? "keys" : "derivative" } as const;
  const change = (equation: WeightEquation): WeightEquation => ({
    ...equation,
    parameters: { ...equation.parameters, initial: initial.parameters },
    // The path begins with the first observation, and zeros for the longer words.
    start(read) {
      const first = initial(read("value").slice(-1, 0, inputChannels));
      return equation.start(() => first);
    },
  });
  const model = fastWeightAlongControl(
    "FastWeightRDE",
    { ...rest, ...sources, method, inputChannels: words, key, dtype },
    // Where a window begins, its own slope is wanted, not that of the window before.
    { side: "right", change },
  );
  // Without a stream: a window's log-signature is not known before its end.
  return layer(model.parameters, (X: Path, call?: FastWeightCall) => model(X, call));
}
