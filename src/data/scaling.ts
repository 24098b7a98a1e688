/** Statistics of channels, which scale their values. */
import { checkWord } from "../tensor/checks.ts";
import { quantileOf } from "./quantile.ts";

/**
 * Location and scale of the values of a channel: mean and standard deviation, or robust estimates of them.
 */
export interface ChannelStatistics {
  /** Mean of the values, which scaling subtracts. */
  readonly mean: number;
  /** Standard deviation of the values, above 0, which scaling divides by. */
  readonly standardDeviation: number;
}

/**
 * How channels are scaled: by mean and standard deviation, by median and quartiles, which outliers do not
 * change, or from their smallest and largest value to -1 and 1.
 */
export type Scaling = "standard" | "robust" | "range";

/** Largest standard deviation of a constant channel, up to rounding, as a fraction of its largest absolute value. */
const roundingShare = 2 ** -44;
/** Largest rounding error of a huge constant channel after scaling. */
const scaledRounding = 2 ** -20;

/**
 * Mean and standard deviation of each channel's observed values. A channel that is constant up to rounding has
 * standard deviation 1, or more if its rounding errors are large.
 *
 * @param scaling `"robust"` uses the median and the interquartile range divided by 1.349, which equal mean
 * and standard deviation for normally distributed values. It falls back to the standard deviation if the
 * quartiles are equal. `"range"` uses the middle of the range and half its width.
 */
export function channelStatistics(
  series: readonly { readonly values: ArrayLike<number> }[],
  channels: number,
  scaling: Scaling = "standard",
): ChannelStatistics[] {
  checkWord("channelStatistics", "scaling", scaling, ["standard", "robust", "range"]);
  return Array.from({ length: channels }, (_, channel) => {
    let [count, sum, squares, min, max] = [0, 0, 0, Infinity, -Infinity];
    const visit = (f: (value: number) => void) => {
      for (const { values } of series) {
        for (let i = channel; i < values.length; i += channels) if (!Number.isNaN(values[i])) f(values[i]);
      }
    };
    visit((value) => {
      count++;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
    });
    const magnitude = Math.max(Math.abs(min), Math.abs(max));
    // The standard deviation of constant values would be a rounding error, which scaling would amplify.
    if (max - min <= roundingShare * magnitude && count > 0) {
      return { mean: min, standardDeviation: Math.max(1, (max - min) / scaledRounding) };
    }
    if (scaling === "range" && count > 0) {
      return { mean: (min + max) / 2, standardDeviation: (max - min) / 2 };
    }
    const mean = count ? sum / count : 0;
    // A power of two, so that squares of tiny and huge values neither underflow nor overflow, and other digits stay.
    const unit = 2 ** Math.floor(Math.log2(max - min));
    visit((value) => squares += ((value - mean) / unit) ** 2);
    const standardDeviation = count && squares > 0 ? Math.sqrt(squares / count) * unit : 1;
    if (scaling === "standard" || count === 0) return { mean, standardDeviation };
    const sorted = new Float64Array(count);
    let at = 0;
    visit((value) => sorted[at++] = value);
    sorted.sort();
    const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantileOf(sorted, share));
    const hasQuartiles = high - low > roundingShare * magnitude;
    return { mean: median, standardDeviation: hasQuartiles ? (high - low) / 1.349 : standardDeviation };
  });
}
