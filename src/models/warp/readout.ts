import type { DType } from "../../device/dtype.ts";
import { checkCount, parameter, type ParameterTree } from "../../nn/layer.ts";
import { full } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { scope } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { PhysicalForm } from "./physics.ts";
import { encodeTime, makeRoot, type Root, type WARPRootOptions } from "./root.ts";

/**
 * What a model puts out: values; logits of classes; or means and standard deviations of independent normal
 * distributions, one after the other along the last axis.
 */
export type WARPOutput = "values" | "logits" | "normal";

/** How predictions are kept within bounds: cut off, or by a learned {@linkcode DynamicTanhParameters dynamic tanh}. */
export type WARPPredictionBound = { readonly low: number; readonly high: number } | "dynamicTanh";

/** alpha tanh((x - b) / a) + beta, four numbers for each output channel. */
export type DynamicTanhParameters = {
  readonly alpha: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly beta: Tensor;
};

/** Options of a readout. */
export interface ReadoutDesign {
  readonly inputChannels: number;
  readonly outputChannels: number;
  readonly root: WARPRootOptions;
  readonly output: WARPOutput;
  readonly physics?: PhysicalForm;
  readonly bound?: WARPPredictionBound;
  readonly leastDeviation: number;
  readonly dtype: DType;
}

/** What a state is decoded with, besides the state. The leading axes of all broadcast together. */
export interface WARPDecoding {
  /** `(..., 1)`, from 0 to 1. */
  readonly tau: Tensor;
  /** The input that the state took up last, `(..., inputChannels)`. */
  readonly input: Tensor;
  /** The first observation, `(..., inputChannels)`. */
  readonly first: Tensor;
}

/** From states to predictions. */
export interface Readout {
  readonly parameters: { readonly tanh?: DynamicTanhParameters };
  readonly root: Root;
  /** Predictions for each state `(..., D)`. */
  decode(theta: Tensor, decoding: WARPDecoding): Tensor;
}

/** Makes what decodes states. */
export function makeReadout(design: ReadoutDesign): Readout {
  const { inputChannels, outputChannels, output, physics, bound, leastDeviation, dtype } = design;
  const { frequencies = 0, previousInput = false } = design.root;
  checkCount("WARP", "root.frequencies", frequencies, 0);
  if (!(leastDeviation >= 0)) {
    throw new RangeError(`WARP: leastDeviation is ${leastDeviation}, expected a number of at least 0`);
  }
  if (bound && bound !== "dynamicTanh" && !(bound.low < bound.high)) {
    throw new RangeError(`WARP: bound.low is ${bound.low}, expected less than bound.high, ${bound.high}`);
  }
  const predicted = physics?.parameters ?? outputChannels;
  const inputs = 1 + 2 * frequencies + (previousInput ? inputChannels : 0);
  const root = makeRoot(inputs, predicted + (output === "normal" ? outputChannels : 0), design.root);
  const tanh = bound === "dynamicTanh" ? makeDynamicTanh(outputChannels, dtype) : undefined;
  const limit = (x: Tensor) => {
    if (tanh) return x.sub(tanh.b).div(tanh.a).tanh().mul(tanh.alpha).add(tanh.beta);
    return bound && bound !== "dynamicTanh" ? x.clip(bound.low, bound.high) : x;
  };
  return {
    parameters: tanh ? { tanh } : {},
    root,
    decode(theta, { tau, input, first }) {
      const time = encodeTime(tau, frequencies);
      const features = previousInput
        ? concatenate([time.broadcastTo([...input.shape.slice(0, -1), time.shape.at(-1)!]), input], -1)
        : time;
      const raw = root.apply(theta, features);
      const parameters = output === "normal" ? raw.slice(-1, 0, predicted) : raw;
      const values = limit(physics ? physics.evaluate(parameters, tau, first) : parameters);
      if (output !== "normal") return values;
      const deviations = raw.slice(-1, predicted).softplus().add(leastDeviation);
      return concatenate([values, deviations], -1);
    },
  };
}

function makeDynamicTanh(channels: number, dtype: DType): DynamicTanhParameters {
  const make = (value: number) => scope(() => parameter(full([channels], value, { dtype })));
  return { alpha: make(1), a: make(1), b: make(0), beta: make(0) } satisfies ParameterTree;
}
