import { checkOptions } from "../device/options.ts";
import type { ParameterTree } from "../nn/layer.ts";
import { adamOptionNames, type AdamOptions, adamRule } from "./adam.ts";
import { makeOptimizer, type Optimizer } from "./optimizer.ts";

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2), as PyTorch's: each step first
 * multiplies the parameters by 1 minus the learning rate times `weightDecay`.
 *
 * @param options `weightDecay` is 0.01 by default.
 * @throws {RangeError} If an option is negative, or a beta is not below 1.
 */
export function AdamW(parameters: ParameterTree, options: AdamOptions): Optimizer {
  checkOptions("AdamW", options, adamOptionNames);
  const { weightDecay = 0.01 } = options;
  return makeOptimizer(adamRule({ ...options, weightDecay }, true), parameters, options);
}
