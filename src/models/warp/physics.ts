import { describe } from "../../device/describe.ts";
import { checkCount } from "../../nn/layer.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/**
 * A formula whose parameters the root network predicts: WARP-Phys (Nzoyem et al., 2025, section 3.2 and
 * appendix C). Any differentiable function can be used.
 */
export interface PhysicalForm {
  /** The number of parameters. */
  readonly parameters: number;
  /**
   * Returns the prediction.
   *
   * @param parameters `(..., parameters)`, the output of the root network.
   * @param tau `(..., 1)`, from 0 to 1.
   * @param first The first observation x_0, `(..., inputChannels)`.
   * @returns `(..., outputChannels)`. The leading axes of the three broadcast together.
   */
  evaluate(parameters: Tensor, tau: Tensor, first: Tensor): Tensor;
}

/**
 * sin(2 pi tau + phi), with one predicted phase phi for each of `channels`.
 *
 * @example
 * ```ts
 * import { key, sinePhase, WARP } from "@weft/weft";
 *
 * const sizes = { inputChannels: 1, outputChannels: 1, root: { width: 8, depth: 1 } };
 * WARP({ ...sizes, physics: sinePhase(), key: key(0) });
 * ```
 */
export function sinePhase(channels = 1): PhysicalForm {
  checkCount("sinePhase", "channels", channels);
  return {
    parameters: channels,
    evaluate: (phase, tau) => tau.mul(2 * Math.PI).add(phase).sin(),
  };
}

/**
 * x(tau) = E(tau) x_0 with a predicted matrix E of `channels` by `channels`, row-major. It describes a linear
 * system without a driving force, such as position and velocity of a mass on a damped spring.
 *
 * @param channels Number of channels.
 * @param scales Typical size of each channel, all equal by default. Entry (i, j) of E is predicted in units
 * of `scales[i] / scales[j]`, so that the root network's outputs have similar sizes even if the channels do
 * not.
 * @throws {RangeError} Unless `scales` has one positive number for each channel.
 */
export function linearFlow(channels = 2, scales?: readonly number[]): PhysicalForm {
  checkCount("linearFlow", "channels", channels);
  const isPositive = (size: unknown) => typeof size === "number" && size > 0 && size < Infinity;
  if (
    scales !== undefined && !(Array.isArray(scales) && scales.length === channels && scales.every(isPositive))
  ) {
    const actual = Array.isArray(scales) ? scales.map(describe).join(", ") : describe(scales);
    throw new RangeError(`linearFlow: scales must be ${channels} positive numbers, got ${actual}`);
  }
  const units = scales?.map((row) => scales.map((column) => row / column));
  return {
    parameters: channels ** 2,
    evaluate: (entries, _tau, first) => {
      const flow = entries.reshape([...entries.shape.slice(0, -1), channels, channels]);
      return (units ? flow.mul(tensor(units, { dtype: flow.dtype })) : flow)
        .matmul(first.expandDims(-1)).squeeze(-1);
    },
  };
}
