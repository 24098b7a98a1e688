import type { DType } from "../../device/dtype.ts";
import { namesOf } from "../../device/options.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkCount } from "../../nn/layer.ts";
import { checkTensor } from "../../tensor/checks.ts";
import { arange, linspace, zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { bernoulli, type Key, normal, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Feeding } from "./autoregressive.ts";
import type { WARPOutput } from "./readout.ts";

/** Options of a call. */
export interface WARPCallOptions {
  /** Which states to read out: `"final"` (default for logits) or `"all"`. With `context`, always all. */
  states?: "final" | "all";
  /** Initial states, `(batch, D)`, instead of phi(x_0). */
  start?: Tensor;
  /**
   * Number of observations that are fed before the model feeds back its predictions, as at inference. y_t
   * then predicts x_(t+1). 1 by default if `pForcing` is given. If neither is given, all observations are
   * fed, and differences are those of x.
   */
  context?: number;
  /** Length of the output if predictions are fed back. By default that of x. */
  length?: number;
  /**
   * The probability p_forcing that an observation after the context is fed instead of the prediction (section
   * 2.3; scheduled sampling, Bengio et al., 2015), drawn for each series and step. In training, give it
   * without a context: then every step but the first, whose observation is always known, is drawn.
   */
  pForcing?: number;
  /**
   * Whether to feed back reparameterized samples instead of means, for a normal output (section 2.3). `false`
   * by default, which gives smooth forecasts.
   *
   * @default {false}
   */
  sample?: boolean;
  /** Random key of `pForcing` and `sample`. */
  key?: Key;
}

export const weightsCallNames = namesOf<Pick<WARPCallOptions, "start">>()("start?");

export const warpCallNames = namesOf<WARPCallOptions>()(
  "states? start? context? length? pForcing? sample? key?",
);

/** A model's inputs and outputs, and its time indexing. */
interface Channels {
  readonly inputChannels: number;
  readonly outputChannels: number;
  readonly output?: WARPOutput;
  readonly trainingLength?: number;
  readonly time?: boolean;
  readonly indexing?: WARPIndexing;
}

/** Whether time indices follow the paper or the authors' code. */
export type WARPIndexing = "paper" | "code";

/** Step of tau: 1 / (T - 1). @param T Length of the training series, or of the current series. */
export function timeStep(T: number): number {
  return T === 1 ? 1 : 1 / (T - 1);
}

/** tau = t / (T - 1) for t = 0 ... length - 1, `(length)`. @param T `length` by default. */
export function times(length: number, dtype: DType, T: number = length): Tensor {
  return linspace(0, T === 1 ? 0 : (length - 1) / (T - 1), length, { dtype });
}

/**
 * Whether a call feeds back predictions. @throws {TypeError} If it sets options of feeding without `context`
 * or `pForcing`.
 */
export function feedsPredictions({ context, pForcing, length, sample }: WARPCallOptions): boolean {
  if (context !== undefined || pForcing !== undefined) return true;
  const without = length !== undefined ? "length" : sample ? "sample" : undefined;
  if (without) {
    throw new TypeError(
      `WARP: ${without} applies only to runs that feed back predictions: give context, or pForcing in training`,
    );
  }
  return false;
}

/**
 * The observations, noise and times of a call that feeds back predictions. @throws {RangeError | TypeError}
 * If the call's options contradict each other.
 */
export function feedingOf(
  x: Tensor,
  call: WARPCallOptions,
  { inputChannels, outputChannels, output, trainingLength, time = false, indexing = "paper" }: Channels,
): Omit<Feeding, "start"> {
  const { context = 1, pForcing = 0, sample = false, key } = call;
  const [batch, observed] = x.shape;
  const length = call.length ?? observed;
  checkCount("WARP", "context", context);
  checkCount("WARP", "length", length, 2);
  if (context > observed) {
    throw new RangeError(
      `WARP: context is ${context}, expected at most the length of the series, ${observed}`,
    );
  }
  if (outputChannels !== inputChannels || output === "logits") {
    throw new TypeError(
      `WARP: only a model that predicts its input can feed back predictions; this model has ` +
        `${outputChannels} output channels (${output ?? "values"}) and ${inputChannels} input channels`,
    );
  }
  if (!(pForcing >= 0 && pForcing <= 1)) {
    throw new RangeError(`WARP: pForcing is ${pForcing}, expected a probability`);
  }
  if (sample && output !== "normal") throw new TypeError('WARP: sample needs a model with output: "normal"');
  if ((sample || pForcing > 0) && !key) {
    throw new TypeError("WARP: pForcing and sample need a key to draw from");
  }
  const [forcingKey, noiseKey] = key ? splitKey(key) : [];
  const { dtype } = x;
  const T = trainingLength ?? length;
  const tau = times(length, dtype, T);
  const steps = length - 1;
  const position = arange(steps, { start: 1, dtype: "int32" }).reshape([1, steps, 1]);
  const inContext = position.less(context);
  const forced = pForcing > 0
    ? bernoulli(forcingKey!, pForcing, [batch, steps, 1]).and(position.less(observed))
    : undefined;
  const missing = zeros([batch, Math.max(0, length - observed), inputChannels], { dtype });
  return {
    x: missing.size > 0 ? concatenate([x, missing], 1) : x.slice(1, 0, length),
    usesObservation: (forced ? inContext.or(forced) : inContext).broadcastTo([batch, steps, 1]),
    noise: sample ? normal(noiseKey!, [batch, steps, inputChannels], { dtype }) : undefined,
    tau: indexing === "paper" ? tau : concatenate([tau.slice(0, 0, 1), tau.slice(0, 1).add(timeStep(T))]),
    tauStep: time ? timeStep(T) : undefined,
    readsPrediction: indexing === "code",
  };
}

/** Throws unless `x` is a batch of series. */
export function checkSeries(x: Tensor, channels: number): void {
  checkTensor("WARP: x", x);
  if (x.rank !== 3 || x.shape[2] !== channels || x.shape[1] === 0) {
    throw new ShapeError(
      `WARP: x of shape ${formatShape(x.shape)}, expected (batch, length, ${channels}), the inputChannels`,
    );
  }
}
