import { checkOptions, namesOf } from "../device/options.ts";
import * as s from "../device/scalar/scalar.ts";
import type { Tensor, TensorLike } from "../tensor/tensor.ts";
import type { ParameterTree } from "../nn/layer.ts";
import {
  checkBetas,
  checkNonNegative,
  fusedKernel,
  makeOptimizer,
  type Optimizer,
  optimizerOptionNames,
  type OptimizerOptions,
  type UpdateRule,
} from "./optimizer.ts";

/** Options of {@linkcode Adam} and its relatives. */
export interface AdamOptions extends OptimizerOptions {
  /**
   * Decay rates of the two moments.
   *
   * @default {[0.9, 0.999]}
   */
  betas?: readonly [number, number];
  /**
   * Added to the denominator to keep it above zero.
   *
   * @default {1e-8}
   */
  eps?: number;
  /**
   * Weight decay, 0 by default. How it is applied depends on the optimizer.
   *
   * @default {0}
   */
  weightDecay?: number;
}

export const adamOptionNames = namesOf<AdamOptions>()(optimizerOptionNames, "betas? eps? weightDecay?");

/** m + (x - m) weight. */
export const average = fusedKernel<[mean: Tensor, x: Tensor, weight: number]>(
  "moving average",
  (mean, x, weight) => s.fma(s.sub(x, mean), weight, mean),
);
const averageSquare = fusedKernel<[mean: Tensor, x: Tensor, decay: number, weight: number]>(
  "moving average of squares",
  (mean, x, decay, weight) => s.fma(s.mul(x, x), weight, s.mul(mean, decay)),
);
const addScaled = fusedKernel<[x: Tensor, y: Tensor, factor: number]>(
  "add scaled",
  (x, y, factor) => s.fma(y, factor, x),
);
/** `keep p - rate m / (sqrt(v) / correction + eps)`. `keep` is the factor of decoupled weight decay. */
export const descendAdaptively = fusedKernel<
  [
    parameter: Tensor,
    m: Tensor,
    v: Tensor,
    keep: TensorLike,
    rate: TensorLike,
    correction: TensorLike,
    eps: number,
  ]
>(
  "adaptive step",
  (parameter, m, v, keep, rate, correction, eps) =>
    s.sub(
      s.mul(parameter, keep),
      s.div(s.mul(m, rate), s.add(s.div(s.sqrt(v), correction), eps)),
    ),
);

/**
 * The per-step numbers of {@linkcode descendAdaptively}, from the step count and the learning rate: `keep`,
 * `rate`, `correction`.
 */
export function adaptiveNumbers(
  [beta1, beta2]: readonly [number, number],
  weightDecay: number,
): NonNullable<UpdateRule["numbers"]> {
  return (step, learningRate) => [
    1 - learningRate * weightDecay,
    learningRate / (1 - beta1 ** step),
    Math.sqrt(1 - beta2 ** step),
  ];
}

/**
 * Adam's update rule. With `decoupled`, weight decay shrinks the parameter instead of being added to the
 * gradient.
 */
export function adamRule(options: AdamOptions, decoupled: boolean): UpdateRule {
  const { betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0 } = options;
  checkBetas(betas);
  checkNonNegative("eps", eps);
  checkNonNegative("weightDecay", weightDecay);
  const [beta1, beta2] = betas;
  return {
    state: ["m", "v"],
    numbers: adaptiveNumbers(betas, decoupled ? weightDecay : 0),
    update(parameter, gradient, state, [keep, rate, correction]) {
      const { dtype } = parameter;
      const g = decoupled || weightDecay === 0
        ? gradient
        : addScaled(dtype, gradient, parameter, weightDecay);
      const m = average(dtype, state[0], g, 1 - beta1);
      const v = averageSquare(dtype, state[1], g, beta2, 1 - beta2);
      return {
        parameter: descendAdaptively(dtype, parameter, m, v, keep, rate, correction, eps),
        state: [m, v],
      };
    },
  };
}

/**
 * Adam (Kingma and Ba, 2015, algorithm 1), as PyTorch's. `weightDecay` times the parameter is added to the
 * gradient.
 *
 * @example
 * ```ts
 * import { Adam, key, Linear, meanSquaredError, normal, valueAndGrad, zeros } from "@weft/weft";
 *
 * const model = Linear({ inputs: 3, outputs: 1, key: key(0) });
 * const optimizer = Adam(model.parameters, { learningRate: 1e-3 });
 * const loss = () => meanSquaredError(model(normal(key(1), [8, 3])), zeros([8, 1]));
 * const [value, gradients] = valueAndGrad(loss)(model.parameters);
 * optimizer.step(gradients);
 * ```
 *
 * @throws {RangeError} If an option is negative, or a beta is not below 1.
 */
export function Adam(parameters: ParameterTree, options: AdamOptions): Optimizer {
  checkOptions("Adam", options, adamOptionNames);
  return makeOptimizer(adamRule(options, false), parameters, options);
}
