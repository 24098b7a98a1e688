/**
 * Learning rules: how a fast weight matrix W changes, given the output of the slow network. (Irie, Faccio,
 * Schmidhuber, "Neural Differential Equations for Learning to Program Neural Nets Through Continuous Learning
 * Rules", 2022, section 3.) A continuous model integrates the result of a rule; a discrete model adds it at
 * every observation.
 */
import { describe } from "../../device/describe.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { checkFunction } from "../../tensor/checks.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { outer, product } from "./heads.ts";

/** The slow network's output at one time, before any activation. */
export interface Signals {
  /** k, `(..., heads, keys)`. */
  readonly keys: Tensor;
  /** v, `(..., heads, values)`. */
  readonly values: Tensor;
  /** beta, `(..., heads, 1)`. */
  readonly rate: Tensor;
}

/** Elements per head of a signal: a number, or as many as keys or values have. */
export type SignalSize = number | "keys" | "values";

/** Further signals of the slow network that a rule reads, by name. */
export type SignalSizes = { readonly [name: string]: SignalSize };

/**
 * Returns dW/ds of shape `(..., heads, values, keys)`, or in discrete models the increment of W. A rule is a
 * function of the values at one time. Custom rules compile like the built-in rules. A rule that reads further
 * signals is made by {@linkcode learningRule}.
 *
 * @example
 * ```ts
 * import { CubicSpline, FastWeightODE, key, type LearningRule, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * // Hebb's rule with weights that fade: dW/ds = sigma(beta) (tanh(v) (x) softmax(k) - W).
 * const fading: LearningRule = ({ keys, values, rate }, w) => {
 *   const written = values.tanh().expandDims(-1).mul(keys.softmax().expandDims(-2));
 *   return rate.sigmoid().expandDims(-1).mul(w ? written.sub(w) : written);
 * };
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2 };
 * const model = FastWeightODE({ ...sizes, rule: fading, key: key(1) });
 * model(CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])))).shape; // (8, 2)
 * ```
 *
 * @param signals The output of the slow network.
 * @param w The fast weights. If undefined, the rule returns their initial value, W(t0).
 */
export type LearningRule = ((signals: Signals, w?: Tensor) => Tensor) & {
  /** The further signals that the rule reads. */
  readonly signals?: SignalSizes;
  /** The form of a rule that is linear in W, in discrete time. Models then process long sequences in chunks. */
  readonly linear?: LinearForm;
};

/**
 * An update W_t = alpha W_(t-1) + beta (v - alpha W_(t-1) k) (x) k, or without correction W_t = alpha W_(t-1) +
 * beta v (x) k.
 */
export interface LinearForm {
  /** Whether the update subtracts alpha W k from v. */
  readonly corrects: boolean;
  /** Computes the terms of an update from the output of the slow network. */
  readonly terms: (signals: Signals) => LinearTerms;
}

/** The terms of a {@linkcode LinearForm}. */
export interface LinearTerms {
  /** k, `(..., heads, keys)`. */
  readonly keys: Tensor;
  /** v, `(..., heads, values)`. */
  readonly values: Tensor;
  /** beta, `(..., heads, 1)`. Without it, beta is 1. */
  readonly rate?: Tensor;
  /** log(alpha), `(..., heads, 1)`. Without it, alpha is 1. */
  readonly logDecay?: Tensor;
}

/** Makes a rule without decay from its linear form. */
function linearRule({ corrects, terms }: LinearForm): LearningRule {
  return Object.assign((signals: Signals, w?: Tensor) => {
    const { keys, values, rate } = terms(signals);
    const written = corrects && w ? values.sub(product(w, keys)) : values;
    return outer(rate ? rate.mul(written) : written, keys);
  }, { linear: { corrects, terms } });
}

/**
 * Makes a rule that reads further signals. The slow network computes them from the same features as the keys,
 * `(..., heads, size)`, before any activation.
 *
 * @example
 * ```ts
 * import { DeltaNet, key, learningRule, normal } from "@weft/weft";
 *
 * // The increment sigma(beta) v (x) softmax(k), and a factor of W for each value.
 * const forgetting = learningRule({ gate: "values" }, ({ keys, values, rate, gate }, w) => {
 *   const written = rate.sigmoid().mul(values).expandDims(-1).mul(keys.softmax().expandDims(-2));
 *   return w ? written.sub(w.mul(gate.sigmoid().expandDims(-1))) : written;
 * });
 * const model = DeltaNet({ inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, rule: forgetting, key: key(1) });
 * model(normal(key(0), [8, 50, 3])).shape; // (8, 2)
 * ```
 *
 * @param signals Elements per head of each signal.
 * @param rule The rule, which receives the signals by their names.
 * @throws {TypeError} If `signals` is not an object, or the rule not a function.
 * @throws {RangeError} If a size is not a positive integer, `"keys"` or `"values"`, or a name is that of a signal
 * that every rule receives.
 */
export function learningRule<Name extends string>(
  signals: { readonly [name in Name]: SignalSize },
  rule: (signals: Signals & { readonly [name in Name]: Tensor }, w?: Tensor) => Tensor,
): LearningRule {
  if (typeof signals !== "object" || signals === null) {
    throw new TypeError(
      `learningRule: signals is ${describe(signals)}, expected an object of names and sizes`,
    );
  }
  checkFunction("learningRule", "rule", rule);
  for (const [name, size] of Object.entries<SignalSize>(signals)) {
    if (["keys", "values", "rate"].includes(name)) {
      throw new RangeError(`learningRule: a signal is named "${name}"; every rule receives this signal`);
    }
    if (size !== "keys" && size !== "values" && !(Number.isInteger(size) && size > 0)) {
      throw new RangeError(
        `learningRule: signals.${name} is ${size}, expected a positive integer, "keys" or "values"`,
      );
    }
  }
  return Object.assign((read: Signals, w?: Tensor) => rule(read as Parameters<typeof rule>[0], w), {
    signals,
  });
}

/** Throws unless a rule is a function. The name of a rule is a common mistake. */
export function checkRule(model: string, rule: LearningRule): void {
  if (typeof rule === "function") return;
  throw new TypeError(
    `${model}: rule is ${JSON.stringify(rule)}, expected a function, as deltaRule() makes one`,
  );
}

/** Options of {@linkcode hebbRule}. */
export interface HebbRuleOptions {
  /**
   * Whether values pass through tanh (equation 30), `true` by default. The discrete models do not apply tanh.
   *
   * @default {true}
   */
  boundValues?: boolean;
  /**
   * Whether beta passes through the sigmoid (equation 21), `true` by default. For Hebb's controlled form, the
   * authors' code uses beta without sigmoid and values without tanh: `hebbRule({ boundRate: false,
   * boundValues: false })`.
   *
   * @default {true}
   */
  boundRate?: boolean;
}

const hebbRuleOptionNames = namesOf<HebbRuleOptions>()("boundValues? boundRate?");

/**
 * Hebb's rule: dW/ds = sigma(beta) v (x) k with k = softmax(k) and v = tanh(v). (Equation 21; 29 and 30 for
 * softmax and tanh.)
 */
export function hebbRule(options: HebbRuleOptions = {}): LearningRule {
  checkOptions("hebbRule", options, hebbRuleOptionNames);
  const { boundValues = true, boundRate = true } = options;
  return linearRule({
    corrects: false,
    terms: ({ keys, values, rate }) => ({
      keys: keys.softmax(),
      values: boundValues ? values.tanh() : values,
      rate: boundRate ? rate.sigmoid() : rate,
    }),
  });
}

/** Options of {@linkcode ojaRule}. */
export interface OjaRuleOptions {
  /**
   * Whether to apply the softmax after subtracting `W^T v`, as in the authors' code. `false` by default, as in
   * the paper.
   *
   * @default {false}
   */
  normalizeAfter?: boolean;
}

const ojaRuleOptionNames = namesOf<OjaRuleOptions>()("normalizeAfter?");

/**
 * Oja's rule: `dW/ds = sigma(beta) v (x) (k - W^T v)` with k = softmax(k) and v = tanh(v); with
 * `normalizeAfter` `dW/ds = v (x) sigma(beta) softmax(k - W^T v)`. (Equation 21; 29 and 30 for softmax and
 * tanh.)
 */
export function ojaRule(options: OjaRuleOptions = {}): LearningRule {
  checkOptions("ojaRule", options, ojaRuleOptionNames);
  const { normalizeAfter = false } = options;
  return ({ keys, values, rate }, w) => {
    const v = values.tanh();
    const remove = (k: Tensor) => w ? k.sub(product(w.mT, v)) : k;
    const changed = normalizeAfter ? remove(keys).softmax() : remove(keys.softmax());
    return outer(v, rate.sigmoid().mul(changed));
  };
}

/** Options of {@linkcode deltaRule}. */
export interface DeltaRuleOptions extends Pick<HebbRuleOptions, "boundValues"> {
  /**
   * Whether to apply tanh to the difference v - W k instead of to v, the "post-delta" of equation 32. It
   * bounds W over thousands of steps.
   *
   * @default {false}
   */
  postTanh?: boolean;
}

const deltaRuleOptionNames = namesOf<DeltaRuleOptions>()("boundValues? postTanh?");

/**
 * The delta rule: dW/ds = sigma(beta) (v - W k) (x) k with k = softmax(k) and v = tanh(v). (Equations 21 and
 * 32; with `boundValues: false` and discrete updates, equation 16.)
 */
export function deltaRule(options: DeltaRuleOptions = {}): LearningRule {
  checkOptions("deltaRule", options, deltaRuleOptionNames);
  const { postTanh = false, boundValues = !postTanh } = options;
  const terms = ({ keys, values, rate }: Signals) => ({
    keys: keys.softmax(),
    values: boundValues ? values.tanh() : values,
    rate: rate.sigmoid(),
  });
  if (!postTanh) return linearRule({ corrects: true, terms });
  return (signals, w) => {
    const { keys, values, rate } = terms(signals);
    return outer(rate.mul((w ? values.sub(product(w, keys)) : values).tanh()), keys);
  };
}

/**
 * v (x) softmax(k), without a learning rate: the increment of W in a {@linkcode LinearTransformer} (section
 * 2.3).
 */
export function additiveRule(): LearningRule {
  return linearRule({ corrects: false, terms: ({ keys, values }) => ({ keys: keys.softmax(), values }) });
}
