import type { DType } from "../device/dtype.ts";
import { type Key, normal, uniform } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";

/**
 * The initial distribution of a linear layer's weight, with `n` inputs and `m` outputs:
 *
 * - `"torch"`: uniform within ±1 / sqrt(n), for the bias as well. PyTorch's default.
 * - `"glorotUniform"`, `"glorotNormal"`: variance 2 / (n + m) (Glorot and Bengio, 2010, eq. 16); the bias is
 *   zero.
 * - `"heUniform"`, `"heNormal"`: variance 2 / n, for relu (He et al., 2015, eq. 10); the bias is zero.
 */
export type Initialization = "torch" | "glorotUniform" | "glorotNormal" | "heUniform" | "heNormal";

type Distribution = (key: Key, shape: readonly number[], variance: number, dtype: DType) => Tensor;

/** Uniform within ±sqrt(3 variance). */
const uniformOf: Distribution = (key, shape, variance, dtype) => {
  const bound = Math.sqrt(3 * variance);
  return uniform(key, shape, { low: -bound, high: bound, dtype });
};
const normalOf: Distribution = (key, shape, variance, dtype) =>
  normal(key, shape, { standardDeviation: Math.sqrt(variance), dtype });

const rules: Record<
  Initialization,
  { distribution: Distribution; variance: (inputs: number, outputs: number) => number }
> = {
  torch: { distribution: uniformOf, variance: (n) => 1 / (3 * n) },
  glorotUniform: { distribution: uniformOf, variance: (n, m) => 2 / (n + m) },
  glorotNormal: { distribution: normalOf, variance: (n, m) => 2 / (n + m) },
  heUniform: { distribution: uniformOf, variance: (n) => 2 / n },
  heNormal: { distribution: normalOf, variance: (n) => 2 / n },
};

/**
 * An initial weight of shape (outputs, inputs).
 *
 * @throws {RangeError} If the initialization is unknown.
 */
export function initialWeight(
  name: Initialization,
  key: Key,
  [outputs, inputs]: readonly [number, number],
  dtype: DType,
): Tensor {
  if (!Object.hasOwn(rules, name)) {
    throw new RangeError(
      `initialization "${name}" is unknown; there are ${Object.keys(rules).join(", ")}`,
    );
  }
  const rule = rules[name];
  return rule.distribution(key, [outputs, inputs], rule.variance(inputs, outputs), dtype);
}

/** An initial bias of shape (outputs), for a weight with the same initialization. */
export function initialBias(
  name: Initialization,
  key: Key,
  [outputs, inputs]: readonly [number, number],
  dtype: DType,
): Tensor {
  return uniformOf(key, [outputs], name === "torch" ? rules.torch.variance(inputs, outputs) : 0, dtype);
}
