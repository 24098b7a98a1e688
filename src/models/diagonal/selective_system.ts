import { namesOf } from "../../device/options.ts";
import { checkCount, parameterOf } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { arange, ones } from "../../tensor/creation.ts";
import { type Key, splitKey, uniform } from "../../tensor/random.ts";
import type { StateSpaceSizes } from "./stack.ts";
import { type DiagonalSystem, logSteps } from "./system.ts";

/** Sizes and initialization of a selective state space. */
export interface SelectiveSystemSizes {
  /**
   * N, the size of the state of each inner feature.
   *
   * @default {16}
   */
  stateSize?: number;
  /**
   * Rank of the projection that computes the step sizes, R in the paper. By default `modelDim / 16`, rounded
   * up.
   */
  stepRank?: number;
  /** Range of the initial step sizes, 0.001 to 0.1 by default. */
  stepSizes?: readonly [least: number, largest: number];
}

export const selectiveSystemNames = namesOf<SelectiveSystemSizes>()("stateSize? stepRank? stepSizes?");

/**
 * S6 (Gu and Dao, "Mamba", 2023, algorithm 2) with `inner` features, each with a state of `stateSize` numbers.
 *
 * @param model The name of the model, for messages.
 */
export function selectiveSystem(
  model: string,
  inner: number,
  options: StateSpaceSizes & SelectiveSystemSizes,
  key: Key,
): DiagonalSystem {
  const { modelDim, stateSize: n = 16, stepRank: rank = Math.ceil(modelDim / 16), stepSizes, dtype } =
    options;
  checkCount(model, "stateSize", n);
  checkCount(model, "stepRank", rank);
  const [selectKey, weightKey, biasKey] = splitKey(key, 3);
  const select = Linear({ inputs: inner, outputs: rank + 2 * n, bias: false, key: selectKey, dtype });
  const bound = 1 / Math.sqrt(rank);
  const parameters = {
    x_proj: select.parameters,
    dt_proj: {
      /** `(inner, rank)`. */
      weight: parameterOf(() => uniform(weightKey, [inner, rank], { low: -bound, high: bound, dtype })),
      /** `(inner)`, initialized so that softplus(bias) is a step size within `stepSizes`. */
      bias: parameterOf(() => {
        const steps = logSteps(model, biasKey, [inner], stepSizes, dtype).exp().maximum(1e-4);
        return steps.add(steps.neg().exp().neg().add(1).log());
      }),
    },
    /** `(inner, n)`. */
    A_log: parameterOf(() => arange(n, { dtype }).add(1).log().expandDims(0).broadcastTo([inner, n])),
    /** `(inner)`. */
    D: parameterOf(() => ones([inner], { dtype })),
  };
  return {
    parameters,
    state: [inner, n],
    complex: false,
    drive(x) {
      const { dt_proj, A_log, D } = parameters;
      const selected = select(x);
      const dt = selected.slice(-1, 0, rank).matmul(dt_proj.weight.mT).add(dt_proj.bias).softplus();
      const [b, c] = [selected.slice(-1, rank, rank + n), selected.slice(-1, rank + n)];
      return {
        a: dt.expandDims(-1).mul(A_log.exp().neg()).exp(),
        b: dt.mul(x).expandDims(-1).mul(b.expandDims(-2)),
        read: (h) => h.mul(c.expandDims(-2)).sum(-1).add(x.mul(D)),
      };
    },
  };
}
