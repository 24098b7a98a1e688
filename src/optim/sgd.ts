import { checkOptions, namesOf } from "../device/options.ts";
import * as s from "../device/scalar/scalar.ts";
import type { Tensor, TensorLike } from "../tensor/tensor.ts";
import type { ParameterTree } from "../nn/layer.ts";
import {
  checkNonNegative,
  fusedKernel,
  makeOptimizer,
  type Optimizer,
  optimizerOptionNames,
  type OptimizerOptions,
} from "./optimizer.ts";

/** Options of {@linkcode SGD}. */
export interface SGDOptions extends OptimizerOptions {
  /**
   * Factor of the previous update direction.
   *
   * @default {0}
   */
  momentum?: number;
  /**
   * Whether to use Nesterov momentum.
   *
   * @default {false}
   */
  nesterov?: boolean;
  /**
   * Weight decay: this multiple of the parameter is added to its gradient.
   *
   * @default {0}
   */
  weightDecay?: number;
}

const sgdOptionNames = namesOf<SGDOptions>()(optimizerOptionNames, "momentum? nesterov? weightDecay?");

const accumulate = fusedKernel<[momentum: Tensor, gradient: Tensor, decay: number]>(
  "sgd momentum",
  (momentum, gradient, decay) => s.fma(momentum, decay, gradient),
);
const descend = fusedKernel<[parameter: Tensor, direction: Tensor, learningRate: TensorLike]>(
  "sgd step",
  (parameter, direction, learningRate) => s.sub(parameter, s.mul(direction, learningRate)),
);

/**
 * Gradient descent with momentum, as PyTorch's `SGD`: b = momentum b + g, p = p - rate b; with `nesterov`
 * (Sutskever et al., 2013), p = p - rate (g + momentum b).
 *
 * @throws {RangeError} If an option is negative, or `nesterov` is set without momentum.
 */
export function SGD(parameters: ParameterTree, options: SGDOptions): Optimizer {
  checkOptions("SGD", options, sgdOptionNames);
  const { momentum = 0, nesterov = false, weightDecay = 0 } = options;
  checkNonNegative("momentum", momentum);
  checkNonNegative("weightDecay", weightDecay);
  if (nesterov && momentum === 0) throw new RangeError("optimizer: nesterov needs a momentum above 0");
  return makeOptimizer(
    {
      state: momentum > 0 ? ["momentum"] : [],
      update(parameter, gradient, [buffer], [learningRate]) {
        const { dtype } = parameter;
        const g = weightDecay > 0 ? accumulate(dtype, parameter, gradient, weightDecay) : gradient;
        if (!buffer) return { parameter: descend(dtype, parameter, g, learningRate), state: [] };
        const b = accumulate(dtype, buffer, g, momentum);
        const direction = nesterov ? accumulate(dtype, b, g, momentum) : b;
        return { parameter: descend(dtype, parameter, direction, learningRate), state: [b] };
      },
    },
    parameters,
    options,
  );
}
