import { checkOptions, namesOf } from "../../device/options.ts";
import { checkCount, parameterOf } from "../../nn/layer.ts";
import { type Key, normal, splitKey, uniform } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { gatedLayers, GatedLinearUnit } from "./gated_layer.ts";
import { projectedSystem } from "./projected_system.ts";
import {
  type StackParts,
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
  type StateSpaceSizes,
} from "./stack.ts";
import { type DiagonalSystem, polar } from "./system.ts";

/** Sizes and initialization of the layers of {@linkcode LRU}. */
export interface LRUSizes extends StateSpaceSizes {
  /**
   * N, the number of complex numbers in the state.
   *
   * @default {64}
   */
  stateSize?: number;
  /**
   * Initial range of the absolute values of the transition, a ring in the complex plane: 0 to 1 by default.
   */
  radius?: readonly [least: number, largest: number];
  /** Largest initial phase of the transition, 2 pi by default. */
  maxPhase?: number;
}

const lruOptionNames = namesOf<StateSpaceOptions & LRUSizes>()(
  stateSpaceOptionNames,
  "stateSize? radius? maxPhase?",
);

/**
 * The linear recurrent unit (Orvieto et al., "Resurrecting Recurrent Neural Networks for Long Sequences",
 * 2023):
 *
 *     x_t = L x_(t-1) + exp(gamma_log) B u_t,  y_t = Re(C x_t) + D u_t
 *
 * with a diagonal L = exp(-exp(nu_log) + i exp(theta_log)) and a learned gamma. Each layer computes u +
 * GLU(GELU(y)), with the normalized u as input of the system.
 *
 * @example
 * ```ts
 * import { key, LRU, normal } from "@weft/weft";
 *
 * const model = LRU({ inputChannels: 3, modelDim: 16, outputChannels: 10, layers: 2, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or a radius is not within 0 to 1.
 */
export function LRU(options: StateSpaceOptions & LRUSizes): StateSpaceModel {
  checkOptions("LRU", options, lruOptionNames);
  return stateSpaceModel("LRU", options, lruLayers(options));
}

/** The layers of {@linkcode LRU}. */
export function lruLayers(options: LRUSizes): StackParts {
  return gatedLayers((key) => lruSystem(options, key), GatedLinearUnit, options);
}

function lruSystem(options: LRUSizes, key: Key): DiagonalSystem {
  const { modelDim: features, stateSize: n = 64, radius: [least, largest] = [0, 1], dtype } = options;
  const { maxPhase = 2 * Math.PI } = options;
  checkCount("LRU", "stateSize", n);
  if (!(least >= 0 && least <= largest && largest <= 1)) {
    throw new RangeError(`LRU: radius is ${least} to ${largest}, expected 0 <= least <= largest <= 1`);
  }
  if (!(maxPhase > 0 && maxPhase <= 2 * Math.PI)) {
    throw new RangeError(`LRU: maxPhase is ${maxPhase}, expected a number above 0 and up to 2 pi`);
  }
  const [radiusKey, phaseKey, bKey, cKey, dKey] = splitKey(key, 5);
  // Lemma 3.2: uniform in the ring. Clip, because log(-log(r)) is not finite for r = 0 and r = 1.
  const square = (u: Tensor) => u.mul(largest ** 2 - least ** 2).add(least ** 2).clip(1e-6, 1 - 1e-6);
  const nu = parameterOf(() => square(uniform(radiusKey, [n], { dtype })).log().mul(-0.5).log());
  const parameters = {
    /** `(n)`. */
    nu_log: nu,
    theta_log: parameterOf(() => uniform(phaseKey, [n], { high: maxPhase, dtype }).maximum(1e-6).log()),
    gamma_log: parameterOf(() => nu.exp().mul(-2).exp().neg().add(1).log().mul(0.5)),
    /** `(features, 2, n)`. */
    B: parameterOf(() =>
      normal(bKey, [features, 2, n], { standardDeviation: Math.sqrt(0.5 / features), dtype })
    ),
    C: parameterOf(() => normal(cKey, [features, 2, n], { standardDeviation: Math.sqrt(1 / n), dtype })),
    /** `(features)`. */
    D: parameterOf(() => normal(dKey, [features], { dtype })),
  };
  return projectedSystem(parameters, n, () => {
    const { nu_log, theta_log, gamma_log, B, C, D } = parameters;
    const a = polar(nu_log.exp().neg().exp(), theta_log.exp());
    return { a, b: B.mul(gamma_log.exp()), c: C, d: D };
  });
}
