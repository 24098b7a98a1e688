/**
 * Continuous-time learning rules: how a fast weight matrix W changes, given what the slow network emits. (Irie, Faccio,
 * Schmidhuber, "Neural Differential Equations for Learning to Program Neural Nets Through Continuous Learning Rules",
 * 2022, section 3.)
 *
 * A rule is a function of one moment; a new one is a few lines and compiles like these.
 */
import type { Tensor } from "../../tensor/tensor.ts";

/** What the slow network emits at a moment, before any activation. */
export interface Signals {
  /** k, `(..., heads, keys)`. */
  readonly keys: Tensor;
  /** v, `(..., heads, values)`. */
  readonly values: Tensor;
  /** beta, `(..., heads, 1)`. */
  readonly rate: Tensor;
}

/**
 * dW/ds of shape `(..., heads, values, keys)`.
 *
 * @param signals What the slow network emits.
 * @param w The fast weights, or nothing where they do not exist yet: the rule then gives their first value, W(t0).
 */
export type LearningRule = (signals: Signals, w?: Tensor) => Tensor;

/** v (x) k for each head. */
function outer(values: Tensor, keys: Tensor): Tensor {
  return values.expandDims(-1).mul(keys.expandDims(-2));
}

/** W k for each head. */
function apply(w: Tensor, keys: Tensor): Tensor {
  return w.matmul(keys.expandDims(-1)).squeeze(-1);
}

/** Hebb's rule: dW/ds = sigma(beta) tanh(v) (x) softmax(k). */
export function hebb(): LearningRule {
  return ({ keys, values, rate }) => outer(rate.sigmoid().mul(values.tanh()), keys.softmax());
}

/** Options of {@linkcode oja}. */
export interface OjaOptions {
  /** Whether the softmax is taken after W^T v was removed, as in the authors' code. `false` by default: as in the paper. */
  normalizeAfter?: boolean;
}

/**
 * Oja's rule: dW/ds = sigma(beta) v (x) (softmax(k) - W^T v) with v = tanh(v); with `normalizeAfter`
 * dW/ds = v (x) sigma(beta) softmax(k - W^T v).
 */
export function oja({ normalizeAfter = false }: OjaOptions = {}): LearningRule {
  return ({ keys, values, rate }, w) => {
    const v = values.tanh();
    const remove = (k: Tensor) => w ? k.sub(apply(w.mT, v)) : k;
    const changed = normalizeAfter ? remove(keys).softmax() : remove(keys.softmax());
    return outer(v, rate.sigmoid().mul(changed));
  };
}

/** Options of {@linkcode delta}. */
export interface DeltaOptions {
  /** Whether tanh is taken of the difference v - W k instead of v: it bounds W over thousands of steps. `false` by default. */
  postTanh?: boolean;
}

/** The delta rule: dW/ds = sigma(beta) (v - W k) (x) k with k = softmax(k) and v = tanh(v). */
export function delta({ postTanh = false }: DeltaOptions = {}): LearningRule {
  return ({ keys, values, rate }, w) => {
    const k = keys.softmax();
    const v = postTanh ? values : values.tanh();
    const difference = w ? v.sub(apply(w, k)) : v;
    return outer(rate.sigmoid().mul(postTanh ? difference.tanh() : difference), k);
  };
}
