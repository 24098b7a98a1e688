import { checkOptions, namesOf } from "../../device/options.ts";
import type { DType } from "../../device/dtype.ts";
import { checkCount, parameterOf, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { RMSNorm } from "../../nn/rms_norm.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, splitKey, uniform } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { selectiveSystem, selectiveSystemNames, type SelectiveSystemSizes } from "./selective_system.ts";
import {
  type SequenceLayer,
  type StackParts,
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
  type StateSpaceSizes,
} from "./stack.ts";
import { runAlong, runStep } from "./system.ts";

/** Sizes and initialization of the layers of {@linkcode Mamba}. */
export interface MambaSizes extends StateSpaceSizes, SelectiveSystemSizes {
  /**
   * Inner features per feature of the model, E in the paper.
   *
   * @default {2}
   */
  expand?: number;
  /**
   * Number of rows that the convolution reads, including the current row.
   *
   * @default {4}
   */
  convolution?: number;
}

const mambaOptionNames = namesOf<StateSpaceOptions & MambaSizes>()(
  stateSpaceOptionNames,
  selectiveSystemNames,
  "expand? convolution?",
);

/**
 * Mamba (Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023; figure 3).
 * Each layer applies a causal convolution to each inner feature, SiLU, and S6, a state space whose step size,
 * B and C are functions of its input (algorithm 2):
 *
 *     h_t = exp(d_t A) h_(t-1) + d_t B_t x_t,  y_t = C_t h_t + D x_t,  d_t = softplus(W x_t + b)
 *
 * with a diagonal A = -exp(A_log). The output is gated by SiLU of a projection of the layer's input. Norms
 * are RMS norms.
 *
 * @example
 * ```ts
 * import { key, Mamba, normal } from "@weft/weft";
 *
 * const model = Mamba({ inputChannels: 3, modelDim: 16, outputChannels: 10, layers: 2, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer.
 */
export function Mamba(options: StateSpaceOptions & MambaSizes): StateSpaceModel {
  checkOptions("Mamba", options, mambaOptionNames);
  return stateSpaceModel("Mamba", options, mambaLayers(options));
}

/** The layers of {@linkcode Mamba}. */
export function mambaLayers(options: MambaSizes): StackParts {
  const { modelDim: features, dtype } = options;
  return { makeLayer: (key) => mambaLayer(options, key), norm: RMSNorm({ features, dtype }) };
}

function mambaLayer(options: MambaSizes, key: Key): SequenceLayer {
  const { modelDim: features, expand = 2, convolution: taps = 4, dtype } = options;
  const inner = expand * features;
  checkCount("Mamba", "modelDim times expand", inner);
  const [inKey, convolutionKey, systemKey, outKey] = splitKey(key, 4);
  const norm = RMSNorm({ features, dtype });
  const inProjection = Linear({ inputs: features, outputs: 2 * inner, bias: false, key: inKey, dtype });
  const outProjection = Linear({ inputs: inner, outputs: features, bias: false, key: outKey, dtype });
  const convolution = causalConvolution(inner, taps, convolutionKey, dtype);
  const system = selectiveSystem("Mamba", inner, options, systemKey);
  /** Returns the convolution's input, and the gate. */
  const enter = (u: Tensor): [Tensor, Tensor] => {
    const both = inProjection(norm(u));
    return [both.slice(-1, 0, inner), both.slice(-1, inner).silu()];
  };
  type State = { rows: Tensor; h: Tensor };
  return {
    parameters: {
      norm: norm.parameters,
      in_proj: inProjection.parameters,
      conv1d: convolution.parameters,
      system: system.parameters,
      out_proj: outProjection.parameters,
    },
    all(u) {
      const [x, gate] = enter(u);
      const rows = x.pad([[0, 0], [taps - 1, 0], [0, 0]]);
      return outProjection(runAlong(system, convolution.apply(rows).silu()).mul(gate));
    },
    start: (batch) => ({
      rows: zeros([batch, taps - 1, inner], { dtype }),
      h: zeros([batch, ...system.state], { dtype }),
    }),
    step(u, state) {
      const [x, gate] = enter(u);
      const { rows, h } = state as State;
      const window = concatenate([rows, x.expandDims(1)], 1);
      const [next, y] = runStep(system, convolution.apply(window).squeeze(1).silu(), h);
      return [{ rows: window.slice(1, 1), h: next }, outProjection(y.mul(gate))];
    },
  };
}

/**
 * A convolution of each feature separately: `(batch, taps - 1 + length, features)` to `(batch, length,
 * features)`.
 */
function causalConvolution(features: number, taps: number, key: Key, dtype?: DType) {
  checkCount("Mamba", "convolution", taps);
  const [weightKey, biasKey] = splitKey(key);
  const bound = 1 / Math.sqrt(taps);
  const range = { low: -bound, high: bound, dtype };
  const parameters = {
    /** `(features, taps)`; the last tap multiplies the current row. */
    weight: parameterOf(() => uniform(weightKey, [features, taps], range)),
    bias: parameterOf(() => uniform(biasKey, [features], range)),
  };
  return {
    parameters: parameters as ParameterTree,
    apply(rows: Tensor): Tensor {
      const length = rows.shape[1] - taps + 1;
      const terms = Array.from(
        { length: taps },
        (_, i) => rows.slice(1, i, i + length).mul(parameters.weight.select(1, i)),
      );
      return terms.reduce((sum, term) => sum.add(term)).add(parameters.bias);
    },
  };
}
