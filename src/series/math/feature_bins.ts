/** Bins of features, for histograms: Ke et al., "LightGBM" (2017), algorithm 1. */

/** Maximum number of bins of the known values of a feature. One more bin has its missing values. */
export const maxBins = 255;

/** A feature in bins. The order of the bins is that of the values; the last bin has the missing values. */
export interface FeatureBins {
  /** Position of the feature in the table. */
  readonly feature: number;
  /** Bin of each row. */
  readonly bins: Uint8Array;
  /** Upper end of each bin, except of the last bin of known values and of the bin of missing values. */
  readonly thresholds: Float64Array;
  /** Whether a value is missing. */
  readonly hasMissing: boolean;
}

/**
 * Sorts the values of features into bins with about equal numbers of rows. Two values share a bin only if the
 * feature has more distinct values than bins. Features with one bin are left out.
 *
 * @param columns Values of each feature; NaN is missing.
 * @param bins Maximum number of bins of known values, from 2 to 255.
 */
export function binFeatures(columns: readonly Float64Array[], bins: number): FeatureBins[] {
  return columns.flatMap((column, feature) => {
    const sorted = column.filter((value) => !Number.isNaN(value)).sort();
    const [thresholds, hasMissing] = [thresholdsOf(sorted, bins), sorted.length < column.length];
    const isConstant = thresholds.length === 0 && !(hasMissing && sorted.length > 0);
    return isConstant ? [] : [{ feature, bins: binsOf(column, thresholds), thresholds, hasMissing }];
  });
}

/** Ends of bins, each halfway between two neighbouring values of a sorted column. */
function thresholdsOf(sorted: Float64Array, bins: number): Float64Array {
  const distinct = sorted.filter((value, i) => i === 0 || value > sorted[i - 1]);
  const ends = distinct.subarray(1).map((value, i) => between(distinct[i], value));
  if (distinct.length <= bins) return ends;
  const indices = Array.from({ length: bins - 1 }, (_, bin) => {
    const quantile = sorted[Math.floor((bin + 1) * sorted.length / bins)];
    return firstAtLeast(distinct, quantile) - 1;
  });
  return Float64Array.from(new Set(indices.filter((index) => index >= 0)), (index) => ends[index]);
}

/** A number from `low` to below `high`: the middle in float32, unless it rounds to a number outside. */
function between(low: number, high: number): number {
  const middle = Math.fround(low / 2 + high / 2);
  return middle >= low && middle < high ? middle : low;
}

/** Position of the first of some ascending numbers that is at least `value`; their count if none is. */
function firstAtLeast(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] >= value) high = middle;
    else low = middle + 1;
  }
  return low;
}

function binsOf(column: Float64Array, thresholds: Float64Array): Uint8Array {
  const bins = new Uint8Array(column.length);
  for (let i = 0; i < column.length; i++) {
    bins[i] = Number.isNaN(column[i]) ? thresholds.length + 1 : firstAtLeast(thresholds, column[i]);
  }
  return bins;
}
