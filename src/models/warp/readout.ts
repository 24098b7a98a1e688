import { checkOptions, namesOf } from "../../device/options.ts";
import type { DType } from "../../device/dtype.ts";
import { parameterOf } from "../../nn/layer.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkLeastDeviation } from "../forecaster.ts";
import type { PhysicalForm } from "./physics.ts";
import {
  makeRoot,
  makeTimeReader,
  positionOptionNames,
  type Root,
  rootOptionNames,
  type WARPRootOptions,
  withoutRoot,
} from "./root.ts";

/**
 * A model's output: values; logits of classes; or means and standard deviations max(softplus, leastDeviation)
 * (equation 2) of independent normal distributions, concatenated along the last axis.
 */
export type WARPOutput = "values" | "logits" | "normal";

/**
 * Initial values of the dynamic tanh alpha tanh((x - b) / a) + beta (appendix A.3; Zhu et al., 2025). All
 * four are learned. A number is shared by all channels, as in the paper; a list has one value for each output
 * channel.
 */
export interface WARPDynamicTanh {
  /**
   * Not 0. 1 by default. The paper uses the largest value of the training data, and 1 if the data range from
   * -1 to 1.
   *
   * @default {1}
   */
  readonly a?: number | readonly number[];
  /**
   * The offset subtracted from x.
   *
   * @default {0}
   */
  readonly b?: number | readonly number[];
  /**
   * 1 by default. The paper uses the largest value of the training data, and 1 if the data range from -1 to 1.
   *
   * @default {1}
   */
  readonly alpha?: number | readonly number[];
  /**
   * The center of the predictions.
   *
   * @default {0}
   */
  readonly beta?: number | readonly number[];
}

const boundOptionNames = namesOf<WARPDynamicTanh & { low?: number; high?: number }>()(
  "low? high? a? b? alpha? beta?",
);

/**
 * Bounds of predictions (appendix A.3): clipping at `low` and `high` (-d_lim and d_lim in the paper), or a
 * learned dynamic tanh. `"dynamicTanh"` starts with a = alpha = 1 and b = beta = 0.
 */
export type WARPPredictionBound =
  | { readonly low: number; readonly high: number }
  | WARPDynamicTanh
  | "dynamicTanh";

/**
 * Parameters of a {@linkcode WARPDynamicTanh}: tensors with one element, or with one for each output channel.
 */
export type DynamicTanhParameters = {
  /** The largest distance of a prediction from beta. */
  readonly alpha: Tensor;
  /** The divisor of x - b. */
  readonly a: Tensor;
  /** The offset subtracted from x. */
  readonly b: Tensor;
  /** The center of the predictions. */
  readonly beta: Tensor;
};

/** Options of a readout. */
interface ReadoutDesign {
  readonly inputChannels: number;
  readonly outputChannels: number;
  readonly root: WARPRootOptions | "none";
  /** T of equation 1, if it is fixed. */
  readonly trainingLength?: number;
  readonly output: WARPOutput;
  readonly physics?: PhysicalForm;
  readonly bound?: WARPPredictionBound;
  readonly leastDeviation: number;
  readonly dtype: DType;
}

/** Inputs of decoding besides the state. Their leading axes broadcast together. */
export interface WARPDecoding {
  /** `(..., 1)`, from 0 to 1. */
  readonly tau: Tensor;
  /** The latest input that updated the state, `(..., inputChannels)`. */
  readonly input: Tensor;
  /** The first observation, `(..., inputChannels)`. */
  readonly first: Tensor;
}

export const decodingNames = namesOf<Partial<Omit<WARPDecoding, "tau">>>()("input? first?");

/** Maps states to predictions. */
export interface Readout {
  readonly parameters: { readonly tanh?: DynamicTanhParameters };
  readonly root: Root;
  /** Returns predictions for each state `(..., D)`. */
  decode(theta: Tensor, decoding: WARPDecoding): Tensor;
}

/** Makes the readout: y_t = theta_t(tau) of equation 1. */
export function makeReadout(design: ReadoutDesign): Readout {
  const { inputChannels, outputChannels, output, physics, leastDeviation } = design;
  checkLeastDeviation("WARP", leastDeviation);
  const predicted = physics?.parameters ?? outputChannels;
  const outputs = predicted + (output === "normal" ? outputChannels : 0);
  const { root, featuresOf } = makeRootReader(design, outputs, inputChannels);
  const { parameters, limit } = makeBound(design);
  return {
    parameters,
    root,
    decode(theta, { tau, input, first }) {
      const raw = root.apply(theta, featuresOf(tau, input));
      const means = output === "normal" ? raw.slice(-1, 0, predicted) : raw;
      const values = limit(physics ? physics.evaluate(means, tau, first) : means);
      if (output !== "normal") return values;
      // Equation 2.
      const deviations = raw.slice(-1, predicted).softplus().maximum(leastDeviation);
      return concatenate([values, deviations], -1);
    },
  };
}

/** The root network, and how it reads the time and the latest input. */
function makeRootReader(design: ReadoutDesign, outputs: number, inputChannels: number) {
  const { root: options, physics } = design;
  if (options === "none") {
    if (!physics) {
      throw new TypeError('WARP: root: "none" needs physics: a formula whose parameters are the state');
    }
    return { root: withoutRoot(outputs), featuresOf: (tau: Tensor) => tau };
  }
  checkOptions("WARP: root", options, rootOptionNames);
  if (options.positions !== undefined) {
    checkOptions("WARP: root.positions", options.positions, positionOptionNames);
  }
  const { previousInput = false } = options;
  const time = makeTimeReader(options, design.trainingLength);
  const root = makeRoot(time.features + (previousInput ? inputChannels : 0), outputs, options);
  const featuresOf = (tau: Tensor, input: Tensor) => {
    const read = time.read(tau);
    if (!previousInput) return read;
    return concatenate([read.broadcastTo([...input.shape.slice(0, -1), time.features]), input], -1);
  };
  return { root, featuresOf };
}

function makeBound({ bound, outputChannels, dtype }: ReadoutDesign) {
  if (bound === undefined) return { parameters: {}, limit: (x: Tensor) => x };
  if (bound !== "dynamicTanh" && typeof bound !== "object") {
    throw new RangeError(
      `WARP: bound is "${bound}", expected "dynamicTanh", { low, high } or { a, b, alpha, beta }`,
    );
  }
  if (bound !== "dynamicTanh") checkOptions("WARP: bound", bound, boundOptionNames);
  if (bound !== "dynamicTanh" && "low" in bound) {
    const { low, high } = bound;
    if (!(low < high)) {
      throw new RangeError(`WARP: bound.low is ${low}, expected less than bound.high, ${high}`);
    }
    return { parameters: {}, limit: (x: Tensor) => x.clip(low, high) };
  }
  const { a = 1, b = 0, alpha = 1, beta = 0 } = bound === "dynamicTanh" ? {} : bound;
  const make = (name: string, value: number | readonly number[]) => {
    const values = typeof value === "number" ? [value] : value;
    const isFit = typeof value === "number" || values.length === outputChannels;
    if (!isFit || !values.every(Number.isFinite) || name === "a" && values.includes(0)) {
      throw new RangeError(
        `WARP: bound.${name} is ${value}, expected a finite number${
          name === "a" ? " other than 0" : ""
        }, or a list ` +
          `of ${outputChannels}, one for each output channel`,
      );
    }
    return parameterOf(() => tensor([...values], { dtype }));
  };
  const tanh: DynamicTanhParameters = {
    alpha: make("alpha", alpha),
    a: make("a", a),
    b: make("b", b),
    beta: make("beta", beta),
  };
  const limit = (x: Tensor) => x.sub(tanh.b).div(tanh.a).tanh().mul(tanh.alpha).add(tanh.beta);
  return { parameters: { tanh }, limit };
}
