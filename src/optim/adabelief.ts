import { checkOptions } from "../device/options.ts";
import * as s from "../device/scalar/scalar.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ParameterTree } from "../nn/layer.ts";
import { adamOptionNames, type AdamOptions, adaptiveNumbers, average, descendAdaptively } from "./adam.ts";
import { checkBetas, checkNonNegative, fusedKernel, makeOptimizer, type Optimizer } from "./optimizer.ts";

const averageSquaredDistance = fusedKernel<
  [s: Tensor, gradient: Tensor, m: Tensor, decay: number, weight: number, eps: number]
>(
  "moving average of squared distances",
  (variance, gradient, m, decay, weight, eps) => {
    const distance = s.sub(gradient, m);
    return s.add(s.fma(s.mul(distance, distance), weight, s.mul(variance, decay)), eps);
  },
);

/**
 * AdaBelief (Zhuang et al., 2020, algorithm 2): Adam whose denominator measures the distance of a gradient
 * from its moving average, s = beta2 s + (1 - beta2) (g - m)^2 + eps. Weight decay is decoupled, as in AdamW.
 *
 * @param options `eps` is 1e-16 by default, as in the authors' code.
 * @throws {RangeError} If an option is negative, or a beta is not below 1.
 */
export function AdaBelief(parameters: ParameterTree, options: AdamOptions): Optimizer {
  checkOptions("AdaBelief", options, adamOptionNames);
  const { betas = [0.9, 0.999], eps = 1e-16, weightDecay = 0 } = options;
  checkBetas(betas);
  checkNonNegative("eps", eps);
  checkNonNegative("weightDecay", weightDecay);
  const [beta1, beta2] = betas;
  return makeOptimizer(
    {
      state: ["m", "s"],
      numbers: adaptiveNumbers(betas, weightDecay),
      update(parameter, gradient, state, [keep, rate, correction]) {
        const { dtype } = parameter;
        const m = average(dtype, state[0], gradient, 1 - beta1);
        const belief = averageSquaredDistance(dtype, state[1], gradient, m, beta2, 1 - beta2, eps);
        return {
          parameter: descendAdaptively(dtype, parameter, m, belief, keep, rate, correction, eps),
          state: [m, belief],
        };
      },
    },
    parameters,
    options,
  );
}
