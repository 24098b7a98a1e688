/**
 * Learning rules with a forget gate: the fast weights decay by a factor that depends on the input, after Yang,
 * Kautz, Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule", 2024. An extension of Irie et
 * al., 2022.
 */
import { checkOptions, namesOf } from "../../device/options.ts";
import { checkWord } from "../../tensor/checks.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { outer, product } from "./heads.ts";
import { type LearningRule, learningRule, type LinearTerms, type Signals } from "./rules.ts";

/** Options of {@linkcode gatedDeltaRule} and {@linkcode gatedOjaRule}. */
export interface GatedRuleOptions {
  /**
   * `"continuous"` (default): dW/ds with the decay -lambda W, for models that solve an equation. `"discrete"`:
   * the increment of W at an observation, where the rule reads and keeps exp(-lambda) W.
   *
   * @default {"continuous"}
   */
  time?: "continuous" | "discrete";
  /**
   * c in lambda = softplus(gate + c). -4 by default: at first the weights lose 1.8 % in a unit of time.
   *
   * @default {-4}
   */
  gateBias?: number;
}

const defaultBias = -4;
const gatedRuleOptionNames = namesOf<GatedRuleOptions>()("time? gateBias?");

/**
 * Makes a rule with a forget gate, a signal of one element per head.
 *
 * @param change The change of W without decay.
 */
function gatedRule(
  name: string,
  options: GatedRuleOptions,
  change: (signals: Signals, w?: Tensor) => Tensor,
): LearningRule {
  checkOptions(name, options, gatedRuleOptionNames);
  const { time = "continuous", gateBias = defaultBias } = options;
  checkWord(name, "time", time, ["continuous", "discrete"]);
  if (!Number.isFinite(gateBias)) {
    throw new RangeError(`${name}: gateBias is ${gateBias}, expected a finite number`);
  }
  return learningRule({ gate: 1 }, ({ keys, values, rate, gate }, w) => {
    const read = activated({ keys, values, rate });
    if (!w) return change(read);
    const logit = gate.add(gateBias).expandDims(-1);
    if (time === "continuous") return change(read, w).sub(w.mul(logit.softplus()));
    // exp(-softplus(x)) = sigmoid(-x).
    const kept = w.mul(logit.neg().sigmoid());
    return kept.add(change(read, kept)).sub(w);
  });
}

/** Softmax of keys, tanh of values and sigmoid of rates. */
function activated({ keys, values, rate }: Signals): Signals {
  return { keys: keys.softmax(), values: values.tanh(), rate: rate.sigmoid() };
}

/**
 * The delta rule with a forget gate: dW/ds = -lambda W + sigma(beta) (v - W k) (x) k with lambda =
 * softplus(gate + c), k = softmax(k) and v = tanh(v). With `time: "discrete"` the new W is alpha W + sigma(beta)
 * (v - alpha W k) (x) k with alpha = exp(-lambda), the gated delta rule of Yang et al., 2024.
 *
 * @example
 * ```ts
 * import { DeltaNet, gatedDeltaRule, key, normal } from "@weft/weft";
 *
 * const rule = gatedDeltaRule({ time: "discrete" });
 * const model = DeltaNet({ inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, rule, key: key(1) });
 * model(normal(key(0), [8, 50, 3])).shape; // (8, 2)
 * ```
 */
export function gatedDeltaRule(options: GatedRuleOptions = {}): LearningRule {
  const rule = gatedRule(
    "gatedDeltaRule",
    options,
    ({ keys, values, rate }, w) => outer(rate.mul(w ? values.sub(product(w, keys)) : values), keys),
  );
  const { time, gateBias = defaultBias } = options;
  if (time !== "discrete") return rule;
  const terms = (signals: Signals): LinearTerms => {
    const { gate } = signals as Signals & { gate: Tensor };
    return { ...activated(signals), logDecay: gate.add(gateBias).softplus().neg() };
  };
  return Object.assign(rule, { linear: { corrects: true, terms } });
}

/**
 * Oja's rule with a forget gate: `dW/ds = -lambda W + sigma(beta) v (x) (k - W^T v)` with lambda, k and v as
 * in {@linkcode gatedDeltaRule}. With `time: "discrete"` the new W is `alpha W + sigma(beta) v (x) (k - alpha
 * W^T v)`.
 */
export function gatedOjaRule(options: GatedRuleOptions = {}): LearningRule {
  return gatedRule(
    "gatedOjaRule",
    options,
    ({ keys, values, rate }, w) => outer(values, rate.mul(w ? keys.sub(product(w.mT, values)) : keys)),
  );
}
