import { checkOptions, namesOf } from "../../device/options.ts";
import { parameterOf } from "../../nn/layer.ts";
import { full, tensor } from "../../tensor/creation.ts";
import { type Key, normal, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { gatedLayers, SigmoidGate } from "./gated_layer.ts";
import { legSEigenvectors, legSFrequencies } from "./hippo.ts";
import { projectedSystem } from "./projected_system.ts";
import {
  type StackParts,
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
  type StateSpaceSizes,
} from "./stack.ts";
import { conjugate, fromParts, multiply } from "../../tensor/complex.ts";
import { checkStateSize, type DiagonalSystem, logSteps, zeroOrderHold } from "./system.ts";

/** Sizes and initialization of the layers of {@linkcode S5}. */
export interface S5Sizes extends StateSpaceSizes {
  /**
   * P, the state size, even, 64 by default: P / 2 complex numbers and their conjugates.
   *
   * @default {64}
   */
  stateSize?: number;
  /**
   * Number of equal diagonal blocks of the initial A, J in the paper.
   *
   * @default {1}
   */
  blocks?: number;
  /** Range of the initial step sizes, one for each element of the state, 0.001 to 0.1 by default. */
  stepSizes?: readonly [least: number, largest: number];
}

const s5OptionNames = namesOf<StateSpaceOptions & S5Sizes>()(
  stateSpaceOptionNames,
  "stateSize? blocks? stepSizes?",
);

/**
 * S5 (Smith et al., "Simplified State Space Layers for Sequence Modeling", 2023). All features share one state
 * x:
 *
 *     x' = A x + B u,  y = 2 Re(C x) + D u
 *
 * with a diagonal A = Lambda_re + i Lambda_im, discretized by zero-order hold with a step size exp(log_step)
 * for each element. A, B and C are initialized in the basis of the eigenvectors of the normal part of
 * HiPPO-LegS. Each layer computes u + z sigmoid(W z + b) with z = GELU(y), where the system reads the
 * normalized u.
 *
 * @example
 * ```ts
 * import { key, normal, S5 } from "@weft/weft";
 *
 * const model = S5({ inputChannels: 3, modelDim: 16, outputChannels: 10, layers: 2, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or the state cannot be divided into blocks of an
 * even size.
 */
export function S5(options: StateSpaceOptions & S5Sizes): StateSpaceModel {
  checkOptions("S5", options, s5OptionNames);
  return stateSpaceModel("S5", options, s5Layers(options));
}

/** The layers of {@linkcode S5}. */
export function s5Layers(options: S5Sizes): StackParts {
  return gatedLayers((key) => s5System(options, key), SigmoidGate, options);
}

/** Upper bound of the real part of A. With a positive real part states would grow. */
const largestReal = -1e-4;

function s5System(options: S5Sizes, key: Key): DiagonalSystem {
  const { modelDim: features, stateSize = 64, blocks = 1, stepSizes, dtype } = options;
  checkStateSize("S5", stateSize);
  const size = stateSize / blocks;
  if (!(Number.isInteger(blocks) && blocks > 0 && size % 2 === 0)) {
    throw new RangeError(
      `S5: blocks is ${blocks}, expected a divisor of stateSize ${stateSize} with blocks of an even size`,
    );
  }
  const pairs = stateSize / 2;
  const [stepKey, bKey, cKey, dKey] = splitKey(key, 4);
  // V of one block is (size, 2, size / 2). Real matrices (features, stateSize) are transformed to its basis
  // block by block.
  const eigenvectors = legSEigenvectors(size);
  const ofPart = (values: Float64Array[]) =>
    tensor(values.flatMap((vector) => [...vector]), { dtype, shape: [size / 2, size] });
  const vectors = () =>
    fromParts(
      ofPart(eigenvectors.map((vector) => vector.real)).mT,
      ofPart(eigenvectors.map((vector) => vector.imaginary)).mT,
    );
  const inCoordinates = (matrix: Tensor, v: Tensor) =>
    matrix.reshape([features * blocks, size]).matmul(v.flatten(1))
      .reshape([features, blocks, 2, size / 2]).transpose(1, 2).reshape([features, 2, pairs]);
  const imaginary = Array.from({ length: blocks }, () => [...legSFrequencies(size)]).flat();
  const parameters = {
    /** `(pairs)`. */
    Lambda_re: parameterOf(() => full([pairs], -0.5, { dtype })),
    Lambda_im: parameterOf(() => tensor(imaginary, { dtype })),
    log_step: parameterOf(() => logSteps("S5", stepKey, [pairs], stepSizes, dtype)),
    /** `(features, 2, pairs)`, initialized with V* B (and C with C V). */
    B: parameterOf(() =>
      inCoordinates(
        normal(bKey, [features, stateSize], { standardDeviation: Math.sqrt(1 / features), dtype }),
        conjugate(vectors()),
      )
    ),
    C: parameterOf(() =>
      inCoordinates(
        normal(cKey, [features, stateSize], { standardDeviation: Math.sqrt(1 / stateSize), dtype }),
        vectors(),
      )
    ),
    /** `(features)`. */
    D: parameterOf(() => normal(dKey, [features], { dtype })),
  };
  return projectedSystem(parameters, pairs, () => {
    const { Lambda_re, Lambda_im, log_step, B, C, D } = parameters;
    const { a, gain } = zeroOrderHold(Lambda_re.minimum(largestReal), Lambda_im, log_step.exp());
    return { a, b: multiply(gain, B), c: C.mul(2), d: D };
  });
}
