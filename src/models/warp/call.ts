import type { DType } from "../../device/dtype.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkCount } from "../../nn/layer.ts";
import { arange, linspace, zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { bernoulli, type Key, normal, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Feeding } from "./autoregressive.ts";
import type { WARPOutput } from "./readout.ts";

/** Options of a call. */
export interface WARPCall {
  /** The outputs of which states: `"final"`, the default with logits, or `"all"`, and always all with `context`. */
  states?: "final" | "all";
  /** States to start from, `(batch, D)`, instead of phi(x_0). */
  start?: Tensor;
  /**
   * How many observations are fed before the model feeds on its own predictions; y_t then predicts x_(t+1). Without it all
   * observations are fed.
   */
  context?: number;
  /** With `context`: the length of the output, as long as x by default. */
  length?: number;
  /**
   * With `context`: the probability that an observation after the context is fed nevertheless (scheduled sampling,
   * Bengio et al., 2015); drawn for each series and step. 0 by default.
   */
  pForcing?: number;
  /** With `context` and a normal output: whether samples are fed instead of means. `false` by default. */
  sample?: boolean;
  /** What `pForcing` and `sample` draw from. */
  key?: Key;
}

/** What a model reads and puts out. */
interface Channels {
  readonly inputChannels: number;
  readonly outputChannels: number;
  readonly output?: WARPOutput;
}

/** tau = t / (T - 1). */
export function times(length: number, dtype: DType): Tensor {
  return linspace(0, 1, length, { dtype });
}

/** What a call with a context feeds. @throws {RangeError | TypeError} If the call's options do not go together. */
export function feedingOf(
  x: Tensor,
  call: WARPCall,
  { inputChannels, outputChannels, output }: Channels,
): Omit<Feeding, "start"> {
  const { context = 0, pForcing = 0, sample = false, key } = call;
  const [batch, observed] = x.shape;
  const length = call.length ?? observed;
  checkCount("WARP", "context", context);
  checkCount("WARP", "length", length, 2);
  if (context > observed) {
    throw new RangeError(`WARP: a context of ${context} observations of a series of ${observed}`);
  }
  if (outputChannels !== inputChannels || output === "logits") {
    throw new TypeError(
      `WARP: only predictions of the input can be fed back; this model puts out ${output ?? "values"} of ` +
        `${outputChannels} channels, its input has ${inputChannels}`,
    );
  }
  if (!(pForcing >= 0 && pForcing <= 1)) {
    throw new RangeError(`WARP: pForcing is ${pForcing}, expected a probability`);
  }
  if (sample && output !== "normal") throw new TypeError('WARP: sample needs a model with output: "normal"');
  if ((sample || pForcing > 0) && !key) {
    throw new TypeError("WARP: pForcing and sample need a key to draw from");
  }
  const [forcingKey, noiseKey] = key ? split(key) : [];
  const { dtype } = x;
  const steps = length - 1;
  const position = arange(steps, { start: 1, dtype: "int32" }).reshape([1, steps, 1]);
  const inContext = position.less(context);
  const forced = pForcing > 0
    ? bernoulli(forcingKey!, pForcing, [batch, steps, 1]).and(position.less(observed))
    : undefined;
  const missing = zeros([batch, Math.max(0, length - observed), inputChannels], { dtype });
  return {
    x: missing.size > 0 ? concatenate([x, missing], 1) : x.slice(1, 0, length),
    given: (forced ? inContext.or(forced) : inContext).broadcastTo([batch, steps, 1]),
    noise: sample ? normal(noiseKey!, [batch, steps, inputChannels], { dtype }) : undefined,
    tau: times(length, dtype),
  };
}

/** Refuses what is no batch of series. */
export function checkSeries(x: Tensor, channels: number): void {
  if (x.rank !== 3 || x.shape[2] !== channels || x.shape[1] === 0) {
    throw new ShapeError(
      `WARP: x of shape ${formatShape(x.shape)}, expected (batch, length, ${channels}), the inputChannels`,
    );
  }
}
