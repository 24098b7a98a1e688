import { checkOptions, namesOf } from "../../device/options.ts";
import { parameterOf } from "../../nn/layer.ts";
import { checkWord } from "../../tensor/checks.ts";
import { full, tensor } from "../../tensor/creation.ts";
import { type Key, normal, splitKey } from "../../tensor/random.ts";
import { runInChunks } from "./chunks.ts";
import { gatedLayers, GatedLinearUnit } from "./gated_layer.ts";
import { legSFrequencies } from "./hippo.ts";
import {
  type StackParts,
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
  type StateSpaceSizes,
} from "./stack.ts";
import { conjugate } from "../../tensor/complex.ts";
import { checkStateSize, type DiagonalSystem, logSteps, zeroOrderHold } from "./system.ts";

/**
 * Imaginary parts of the diagonal of A, whose real parts are -1/2. For a state of size N they give N / 2
 * numbers; the other half are their conjugates.
 */
const initializations = {
  /** S4D-LegS: the eigenvalues of the normal part of HiPPO-LegS. */
  legs: (n: number): Float64Array => legSFrequencies(n),
  /** S4D-Lin: n pi, for n = 0 ... N / 2 - 1. */
  linear: (n: number) => Float64Array.from({ length: n / 2 }, (_, k) => Math.PI * k),
  /** S4D-Inv: N / pi (N / (2 n + 1) - 1), for n = 0 ... N / 2 - 1. */
  inverse: (n: number) => Float64Array.from({ length: n / 2 }, (_, k) => n / Math.PI * (n / (2 * k + 1) - 1)),
};

/** Sizes and initialization of the layers of {@linkcode S4D}. */
export interface S4DSizes extends StateSpaceSizes {
  /**
   * N, the state size of each feature, even, 64 by default: N / 2 complex numbers and their conjugates.
   *
   * @default {64}
   */
  stateSize?: number;
  /**
   * The initial diagonal of A: `"legs"` (default, S4D-LegS), `"linear"` (S4D-Lin) or `"inverse"` (S4D-Inv).
   */
  initialization?: "legs" | "linear" | "inverse";
  /** Range of the initial step sizes dt, 0.001 to 0.1 by default. */
  stepSizes?: readonly [least: number, largest: number];
}

const s4dOptionNames = namesOf<StateSpaceOptions & S4DSizes>()(
  stateSpaceOptionNames,
  "stateSize? initialization? stepSizes?",
);

/**
 * S4D, diagonal state spaces (Gu et al., "On the Parameterization and Initialization of Diagonal State Space
 * Models", 2022). Each feature u has a separate state x:
 *
 *     x' = A x + B u,  y = 2 Re(C x) + D u
 *
 * with a diagonal A = -exp(log_A_real) + i A_imag and B = 1, discretized by zero-order hold with step sizes
 * exp(log_dt). Each layer computes u + GLU(GELU(y)), with the normalized u as input of the system.
 *
 * @example
 * ```ts
 * import { key, normal, S4D } from "@weft/weft";
 *
 * const model = S4D({ inputChannels: 3, modelDim: 16, outputChannels: 10, layers: 2, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, the state size is odd, or the initialization is
 * unknown.
 */
export function S4D(options: StateSpaceOptions & S4DSizes): StateSpaceModel {
  checkOptions("S4D", options, s4dOptionNames);
  return stateSpaceModel("S4D", options, s4dLayers(options));
}

/** The layers of {@linkcode S4D}. */
export function s4dLayers(options: S4DSizes): StackParts {
  return gatedLayers((key) => s4dSystem(options, key), GatedLinearUnit, options);
}

function s4dSystem(options: S4DSizes, key: Key): DiagonalSystem {
  const { modelDim: features, stateSize = 64, initialization = "legs", stepSizes, dtype } = options;
  checkStateSize("S4D", stateSize);
  checkWord("S4D", "initialization", initialization, Object.keys(initializations));
  const pairs = stateSize / 2;
  const [stepKey, outputKey, directKey] = splitKey(key, 3);
  const parameters = {
    /** `(features)`. */
    log_dt: parameterOf(() => logSteps("S4D", stepKey, [features], stepSizes, dtype)),
    /** `(features, pairs)`. */
    log_A_real: parameterOf(() => full([features, pairs], Math.log(0.5), { dtype })),
    A_imag: parameterOf(() =>
      tensor(initializations[initialization](stateSize), { dtype, shape: [1, pairs] })
        .broadcastTo([features, pairs])
    ),
    /** `(features, 2, pairs)`, initialized with complex normal numbers of variance one. */
    C: parameterOf(() => normal(outputKey, [features, 2, pairs], { standardDeviation: Math.SQRT1_2, dtype })),
    /** `(features)`. */
    D: parameterOf(() => normal(directKey, [features], { dtype })),
  };
  const { log_dt, log_A_real, A_imag, C, D } = parameters;
  const discretize = () => {
    const { a, gain } = zeroOrderHold(log_A_real.exp().neg(), A_imag, log_dt.exp().expandDims(1));
    // Twice the real part is the sum of a number and its conjugate.
    return { a, b: gain, c: C.mul(2) };
  };
  return {
    parameters,
    state: [features, 2, pairs],
    complex: true,
    drive(u) {
      const { a, b, c } = discretize();
      return {
        a,
        b: u.expandDims(-1).expandDims(-1).mul(b),
        read: (x) => x.mul(conjugate(c)).sum([-2, -1]).add(u.mul(D)),
      };
    },
    all: (u) => runInChunks(discretize(), u).add(u.mul(D)),
  };
}
