/**
 * Features of series from convolutions with fixed kernels.
 *
 * Kernels, dilations, biases and the proportion of positive values: Dempster, Schmidt and Webb, "MiniRocket"
 * (2021), section 3. First differences and the other three pooling operators: Tan, Dempster, Bergmeir and Webb,
 * "MultiRocket" (2022), section 3. Computed on the host, so that the features are the same on every device.
 */
import { LruCache } from "../../device/lru_cache.ts";
import { type Key, randpermArray, splitKey } from "../../tensor/random.ts";
import { quantileOf } from "../../data/quantile.ts";

/** Number of weights of a kernel. Three weights are 2 and six are -1, so that the sum is 0. */
export const kernelLength = 9;

/** Positions of the three weights of 2 of each of the 84 kernels. */
export const kernels: readonly (readonly [number, number, number])[] = Array.from(
  { length: kernelLength },
  (_, i) =>
    Array.from(
      { length: kernelLength },
      (_, j) => Array.from({ length: kernelLength }, (_, l) => [i, j, l] as const),
    ),
).flat(2).filter(([i, j, l]) => i < j && j < l);

/** Number of representations of a series: the series, and its first differences. */
const representations = 2;

/** Maximum number of channels that a convolution adds up. */
const maxChannels = 9;

/** Sizes of the features. */
interface ConvolutionSizes {
  /** Number of channels. */
  channels: number;
  /** Number of points of each resampled series, at least 9. */
  points: number;
  /** Number of biases of each kernel, at least 1. */
  biases: number;
  /** Number of pooling operators, from 1 to 4, in the order of {@linkcode pool}. */
  operators: number;
  /** Number of random draws of channels and biases for each convolution, at least 1; 1 by default. */
  draws?: number;
  /** Random key of the channels that convolutions add up, and of the series that determine the biases. */
  key: Key;
  /** Whether values that exceed a bias by a rounding error count as not above the bias; true by default. */
  ignoresRounding?: boolean;
}

/** Number of biases in total. */
export function biasCount({ biases, draws = 1 }: Pick<ConvolutionSizes, "biases" | "draws">): number {
  return draws * representations * kernels.length * biases;
}

/** Number of features of a series. */
export function convolutionFeatureCount(
  sizes: Pick<ConvolutionSizes, "biases" | "operators" | "draws">,
): number {
  return sizes.operators * biasCount(sizes);
}

/** A convolution with one kernel and one dilation, for all biases of this dilation. */
interface Convolution {
  /** Positions of the weights of 2. */
  readonly kernel: readonly [number, number, number];
  readonly dilation: number;
  /** Channels that are added up. */
  readonly channels: readonly number[];
  /** Whether the values outside of the series are 0. Otherwise only complete convolutions are pooled. */
  readonly isPadded: boolean;
  /** Positions of the biases, from `first` to below `end`. */
  readonly first: number;
  readonly end: number;
}

/** All convolutions of a representation with a number of points. */
function convolutionsOf(
  { channels, biases }: ConvolutionSizes,
  points: number,
  key: Key,
  firstBias: number,
): Convolution[] {
  // The longest kernel has the length of the series (MiniRocket, section 3.1.3).
  const exponent = Math.max(0, Math.log2((points - 1) / (kernelLength - 1)));
  const dilations = Array.from(
    { length: biases },
    (_, i) => Math.floor(2 ** (biases > 1 ? exponent * i / (biases - 1) : 0) + 1e-9),
  );
  const counts = [...Map.groupBy(dilations, (dilation) => dilation)];
  const keys = splitKey(key, kernels.length);
  return kernels.flatMap((kernel, k) => {
    const dilationKeys = splitKey(keys[k], counts.length);
    let end = firstBias + k * biases;
    return counts.map(([dilation, { length }], d) => {
      const first = end;
      end += length;
      const order = randpermArray(dilationKeys[d], channels);
      // The number of channels is uniform in its logarithm.
      const draw = channels === 1 ? 0 : randpermArray(splitKey(dilationKeys[d])[0], 1024)[0] / 1024;
      const count = Math.floor(2 ** (draw * Math.log2(Math.min(channels, maxChannels) + 1)));
      return {
        kernel,
        dilation,
        channels: Array.from(order.subarray(0, count)),
        isPadded: (k + d) % 2 === 0 || (kernelLength - 1) * dilation >= points,
        first,
        end,
      };
    });
  });
}

/** Features of resampled series. */
export interface ConvolutionFeatures {
  /**
   * Biases from quantiles of the convolutions of training series, one random series for each convolution.
   *
   * @param count Number of training series.
   * @param series Returns a resampled series `(channels, points)`.
   */
  thresholds(count: number, series: (i: number) => Float64Array): Float32Array;
  /**
   * Writes the features of a series.
   *
   * @param series Resampled series `(channels, points)`.
   * @param into Features, `convolutionFeatureCount` numbers.
   */
  write(series: Float64Array, biases: Float32Array, into: Float32Array): void;
}

/** Convolutions by their sizes. Each fold of a cross-validation has the same ones, and to draw them takes long. */
const drawn = new LruCache<string, ReturnType<typeof drawConvolutions>>(1);

/** Draws the convolutions of each representation. @param keys A key for each draw of each representation. */
function drawConvolutions(sizes: ConvolutionSizes, keys: readonly Key[]) {
  const { points, biases, draws = 1 } = sizes;
  const convolutions = Array.from(
    { length: representations },
    (_, r) =>
      Array.from({ length: draws }, (_, draw) => {
        const place = draw * representations + r;
        return convolutionsOf(sizes, points - r, keys[place], place * kernels.length * biases);
      }).flat(),
  );
  // By their dilation and channels, and then by their kernel. Convolutions with equal kernels differ in their biases
  // only, such as the draws with one channel.
  const groups = convolutions.map((all) =>
    groupsBy(all, ({ dilation, channels }) => `${dilation} ${channels}`)
      .map((group) => groupsBy(group, ({ kernel }) => `${kernel}`))
  );
  return { convolutions, groups };
}

/** Makes the features of series with these sizes. */
export function convolutionFeatures(sizes: ConvolutionSizes): ConvolutionFeatures {
  const { channels, points, biases, operators, draws = 1, key, ignoresRounding = true } = sizes;
  const [seriesKey, ...keys] = splitKey(key, 1 + draws * representations);
  const { convolutions, groups } = drawn.getOrMake(
    JSON.stringify([channels, points, biases, draws, key]),
    () => drawConvolutions(sizes, keys),
  );
  const memory = convolutionMemory(points);
  const { output } = memory;
  const pooled = new Float64Array(4);
  const forms = (series: Float64Array) => [series, differences(series, channels, points)];
  /** Largest absolute value of each channel. */
  const magnitudesOf = (series: Float64Array) =>
    Array.from(
      { length: channels },
      (_, c) => largestAbsolute(series.subarray(c * points, (c + 1) * points)),
    );
  return {
    thresholds(count, series) {
      const found = new Float32Array(biasCount(sizes));
      const all = convolutions.flatMap((formConvolutions, r) =>
        formConvolutions.map((convolution) => ({ convolution, r }))
      );
      const order = splitKey(seriesKey, Math.ceil(all.length / count))
        .flatMap((passKey) => Array.from(randpermArray(passKey, count)));
      const users = Map.groupBy(all.keys(), (i) => order[i]);
      // One series after the other, so that only one is in memory.
      for (const [chosen, places] of users) {
        const seriesForms = forms(series(chosen));
        for (const { convolution, r } of places.map((i) => all[i])) {
          addChannels(seriesForms[r], points - r, convolution, memory);
          const size = convolve(points - r, convolution, memory);
          const sorted = output.slice(0, size).sort();
          for (let b = convolution.first; b < convolution.end; b++) {
            // A sequence of low discrepancy (MiniRocket, section 3.1.2).
            found[b] = quantileOf(sorted, (b + 1) * golden % 1);
          }
        }
      }
      return found;
    },
    write(series, thresholds, into) {
      const magnitudes = magnitudesOf(series);
      forms(series).forEach((form, r) => {
        for (const group of groups[r]) {
          const [[convolution]] = group;
          addChannels(form, points - r, convolution, memory);
          const magnitude = convolution.channels.reduce((sum, channel) => sum + magnitudes[channel], 0);
          const rounding = ignoresRounding ? roundingShare * magnitude : 0;
          for (const equal of group) {
            const count = convolve(points - r, equal[0], memory);
            for (const { first, end } of equal) {
              for (let b = first; b < end; b++) {
                // A bias may equal values of the series up to its rounding to float32.
                const biasRounding = ignoresRounding ? float32Rounding * Math.abs(thresholds[b]) : 0;
                pool(output, count, thresholds[b], pooled, rounding + biasRounding);
                for (let o = 0; o < operators; o++) into[operators * b + o] = pooled[o];
              }
            }
          }
        }
      });
    },
  };
}

/** Items in groups with equal names. */
function groupsBy<T>(items: readonly T[], nameOf: (item: T) => string): T[][] {
  return Map.groupBy(items, nameOf).values().toArray();
}

/**
 * Largest rounding error of a convolution, as a fraction of the largest absolute value of its input. The weights of
 * a kernel add up to 0, so the convolution of a constant stretch is 0 up to this error.
 */
const roundingShare = 2 ** -40;
/** Largest rounding error of a number in float32, as a fraction of the number. */
const float32Rounding = 2 ** -23;

function largestAbsolute(values: Float64Array): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

/** Fractional part of the golden ratio. */
const golden = (Math.sqrt(5) - 1) / 2;

/** First differences `(channels, points - 1)` of a series `(channels, points)`. */
function differences(series: Float64Array, channels: number, points: number): Float64Array {
  const found = new Float64Array(channels * (points - 1));
  for (let c = 0; c < channels; c++) {
    for (let t = 0; t < points - 1; t++) {
      found[c * (points - 1) + t] = series[c * points + t + 1] - series[c * points + t];
    }
  }
  return found;
}

/** Memory of convolutions of series with a number of points. */
export function convolutionMemory(points: number) {
  return {
    /** Sum of the channels, between zeros. The longest kernel has the length of the series. */
    padded: new Float64Array(2 * points + kernelLength),
    /** Sums of the nine values that a kernel reads at each point. */
    sums: new Float64Array(points),
    /** Values of the convolution. */
    output: new Float64Array(points),
  };
}

/**
 * Adds up some channels of a series, and the nine values that kernels with a dilation read at each point. Values outside
 * of the series are 0.
 *
 * @param series `(channels, points)`.
 */
export function addChannels(
  series: Float64Array,
  points: number,
  { dilation, channels }: Pick<Convolution, "dilation" | "channels">,
  { padded, sums }: ReturnType<typeof convolutionMemory>,
): void {
  const half = (kernelLength - 1) / 2 * dilation;
  padded.fill(0, 0, points + 2 * half);
  for (const channel of channels) {
    const at = channel * points;
    for (let t = 0; t < points; t++) padded[t + half] += series[at + t];
  }
  for (let t = 0; t < points; t++) {
    let sum = padded[t];
    for (let place = t + dilation; place <= t + 2 * half; place += dilation) sum += padded[place];
    sums[t] = sum;
  }
}

/**
 * Convolves the values of {@linkcode addChannels} with a kernel: y(t) = sum over i of w(i) x(t + (i - 4) d).
 *
 * @returns Number of values.
 */
export function convolve(
  points: number,
  { kernel: [i, j, l], dilation, isPadded }: Pick<Convolution, "kernel" | "dilation" | "isPadded">,
  { padded, sums, output }: ReturnType<typeof convolutionMemory>,
): number {
  const half = (kernelLength - 1) / 2 * dilation;
  const [from, to] = isPadded ? [0, points] : [half, points - half];
  const [a, b, c] = [i * dilation, j * dilation, l * dilation];
  for (let t = from; t < to; t++) {
    output[t - from] = 3 * (padded[t + a] + padded[t + b] + padded[t + c]) - sums[t];
  }
  return to - from;
}

/**
 * Pooling operators of MultiRocket, section 3.2, for the values above a bias: their proportion (PPV), their
 * mean excess (MPV), their mean position (MIPV, -1 without such values) and their longest stretch (LSPV).
 * Positions and stretches are divided by the number of values.
 *
 * @param into Receives the four features.
 * @param rounding Largest rounding error of a value. A value is above the bias if it exceeds the bias by more.
 */
export function pool(
  values: Float64Array,
  count: number,
  bias: number,
  into: Float64Array,
  rounding = 0,
): void {
  let above = 0, excess = 0, positions = 0, stretch = 0, longest = 0;
  for (let t = 0; t < count; t++) {
    const value = values[t] - bias;
    // A factor of 0 or 1 in place of a branch, which processors cannot predict.
    const factor = Number(value > rounding);
    above += factor;
    excess += factor * value;
    positions += factor * t;
    stretch = factor * (stretch + 1);
    longest = Math.max(longest, stretch);
  }
  // The product of 0 and an infinite value is NaN.
  if (Number.isNaN(excess)) {
    excess = values.subarray(0, count).reduce((sum, x) => x - bias > rounding ? sum + (x - bias) : sum, 0);
  }
  into[0] = above / count;
  into[1] = above > 0 ? excess / above : 0;
  into[2] = above > 0 ? positions / above / count : -1;
  into[3] = longest / count;
}
