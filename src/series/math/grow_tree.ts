/**
 * Growth of regression trees by histograms: Ke et al., "LightGBM" (2017), sections 2.1 and 3. The leaf whose
 * split gains the most is split next.
 */
import { unitPair } from "../../data/host_random.ts";
import { foldIn, type Key } from "../../tensor/random.ts";
import { type FeatureBins, perWord } from "./feature_bins.ts";

/** Limits of trees. */
export interface TreeLimits {
  /** Maximum number of leaves, at least 2. */
  readonly leaves: number;
  /** Maximum number of splits from the root to a leaf. */
  readonly depth: number;
  /** Minimum number of rows in a leaf. */
  readonly leafRows: number;
  /** Penalty lambda of squared leaf values, at least 0. */
  readonly l2: number;
  /** Share of the features that a split chooses from, above 0 and at most 1. */
  readonly columnShare: number;
}

/** Nodes of trees. */
export interface Nodes {
  /** Feature of each split; -1 for a leaf. */
  readonly feature: number[];
  /** Rows whose value is at most the threshold go to `left`, larger values to `right`, and NaN to `missing`. */
  readonly threshold: number[];
  readonly left: number[];
  readonly right: number[];
  readonly missing: number[];
  /** Value of each leaf; 0 for a split. */
  readonly value: number[];
}

/** A leaf of a grown tree: its node, and its rows from `start` to below `end` in the list of rows. */
export interface Leaf {
  readonly node: number;
  readonly start: number;
  readonly end: number;
}

/** Derivatives of the loss at each row of the table. */
export interface Derivatives {
  /** Negative gradients. */
  readonly gradients: Float64Array;
  /** Second derivatives, at least 0; all 1 by default. */
  readonly hessians?: Float64Array;
}

interface OpenLeaf extends Leaf {
  readonly depth: number;
  /** Sums of each bin. */
  readonly sums: Sums<Float64Array>;
  /** Sums of all rows. */
  readonly total: Sums<number>;
  readonly split?: Split;
}

/**
 * Sums over rows. `packed` has the gradients and the number of rows in one number; `hessian` only if the second
 * derivatives are not all 1.
 */
interface Sums<T> {
  readonly packed: T;
  readonly hessian?: T;
}

/** A split of a leaf by the feature with this position in the bins. */
interface Split {
  gain: number;
  feature: number;
  /** Rows of the bins from 0 to `end` go left. */
  end: number;
  isMissingLeft: boolean;
  /** Sums of the left side. */
  packed: number;
  hessian: number;
  rows: number;
}

/** Smallest gain of a split, as a fraction of the squared gradients: smaller gains may be rounding errors. */
const minGain = 1e-9;
/** Keeps divisors above 0. */
const tiny = 1e-9;

/** Makes a function that grows trees on the same rows. */
export function treeGrower({ features, words, thresholds, hasMissing }: FeatureBins, limits: TreeLimits) {
  const width = thresholds.reduce((most, { length }) => Math.max(most, length), 0) + 2;
  const free: Float64Array[] = [];
  const chosen = new Float64Array(words[0]?.length ?? 0);
  const histogramOf = (rows: Int32Array, values: Float64Array): Float64Array => {
    const sums = free.pop()?.fill(0) ?? new Float64Array(words.length * perWord * width);
    for (let i = 0; i < rows.length; i++) chosen[i] = values[rows[i]];
    words.forEach((word, w) => addRows(word, rows, chosen, sums, w * perWord * width, width));
    return sums;
  };

  /**
   * Grows a tree on some rows, and adds its nodes.
   *
   * @param rows Positions of the rows in the table; afterwards in the order of the leaves.
   * @returns The leaves. Their values are 0.
   */
  return (rows: Int32Array, { gradients, hessians }: Derivatives, nodes: Nodes, key: Key): Leaf[] => {
    const { packed, unit, scale } = pack(gradients, rows.length);
    const sumsOf = (some: Int32Array) => ({
      packed: histogramOf(some, packed),
      ...(hessians ? { hessian: histogramOf(some, hessians) } : {}),
    });
    const total = { packed: sumOf(rows, packed), hessian: hessians ? sumOf(rows, hessians) : rows.length };
    const squares = rows.reduce((sum, row) => sum + gradients[row] ** 2, 0);
    const least = minGain * squares * rows.length / (total.hessian + tiny);
    const open = (leaf: OpenLeaf): OpenLeaf => {
      const { depth, start, end, node, sums } = leaf;
      const count = end - start;
      if (depth >= limits.depth || count < 2 * limits.leafRows) return leaf;
      const best: Split = {
        gain: least,
        feature: -1,
        end: 0,
        isMissingLeft: false,
        packed: 0,
        hessian: 0,
        rows: 0,
      };
      const decode = { unit, scale, width, ...limits };
      for (const feature of chosenFeatures(features.length, limits.columnShare, foldIn(key, node))) {
        const ends = thresholds[feature].length;
        scanFeature(leaf.total, sums, count, feature, ends, hasMissing[feature], decode, best);
      }
      return best.feature < 0 ? leaf : { ...leaf, split: best };
    };
    const leaves = [
      open({ node: addLeaf(nodes), start: 0, end: rows.length, depth: 0, sums: sumsOf(rows), total }),
    ];
    while (leaves.length < limits.leaves) {
      let place = 0;
      leaves.forEach(({ split }, i) => {
        if ((split?.gain ?? 0) > (leaves[place].split?.gain ?? 0)) place = i;
      });
      const { split, node, start, end, sums, ...leaf } = leaves[place];
      if (!split) break;
      const { feature } = split;
      const middle = start + split.rows;
      const [left, right] = [addLeaf(nodes), addLeaf(nodes)];
      nodes.feature[node] = features[feature];
      nodes.threshold[node] = thresholds[feature][split.end] ?? Infinity;
      nodes.left[node] = left;
      nodes.right[node] = right;
      // Without missing values in the leaf, the side with more rows has them.
      const isMissingLeft = split.isMissingLeft || !hasMissing[feature] && 2 * split.rows > end - start;
      nodes.missing[node] = isMissingLeft ? left : right;
      const missing = split.isMissingLeft ? thresholds[feature].length + 1 : -1;
      partition(
        rows.subarray(start, end),
        words[Math.floor(feature / perWord)],
        8 * (feature % perWord),
        split.end,
        missing,
      );
      // The histogram of the larger side is that of both without the smaller side.
      const isLeftSmaller = 2 * split.rows <= end - start;
      const smaller = sumsOf(isLeftSmaller ? rows.subarray(start, middle) : rows.subarray(middle, end));
      subtract(sums.packed, smaller.packed);
      if (sums.hessian) subtract(sums.hessian, smaller.hessian!);
      const depth = leaf.depth + 1;
      leaves[place] = open({
        ...{ node: left, start, end: middle, depth, sums: isLeftSmaller ? smaller : sums },
        total: { packed: split.packed, hessian: split.hessian },
      });
      leaves.push(open({
        ...{ node: right, start: middle, end, depth, sums: isLeftSmaller ? sums : smaller },
        total: {
          packed: leaf.total.packed - split.packed,
          hessian: leaf.total.hessian! - split.hessian,
        },
      }));
    }
    for (const { sums } of leaves) free.push(sums.packed, ...(sums.hessian ? [sums.hessian] : []));
    return leaves;
  };
}

/**
 * Packs each gradient and a count of 1 into one number: unit + round(gradient scale). Sums of up to `count` packed
 * numbers are exact. With 100,000 rows a gradient has 18 bits, with a million 12; 5 are enough (Shi et al.,
 * "Quantized Training of Gradient Boosting Decision Trees", 2022).
 */
function pack(gradients: Float64Array, count: number): { packed: Float64Array; unit: number; scale: number } {
  const bits = Math.ceil(Math.log2(count + 1));
  const unit = 2 ** (52 - bits);
  const most = gradients.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const scale = most > 0 ? unit / 2 ** (bits + 1) / most : 1;
  return { packed: gradients.map((gradient) => unit + Math.round(gradient * scale)), unit, scale };
}

function sumOf(rows: Int32Array, values: Float64Array): number {
  return rows.reduce((sum, row) => sum + values[row], 0);
}

function subtract(from: Float64Array, other: Float64Array): void {
  for (let i = 0; i < from.length; i++) from[i] -= other[i];
}

function addLeaf({ feature, threshold, left, right, missing, value }: Nodes): number {
  const node = feature.length;
  feature.push(-1);
  for (const numbers of [threshold, left, right, missing, value]) numbers.push(0);
  return node;
}

/** Adds rows to the histograms of the four features of a word (LightGBM, algorithm 1). */
function addRows(
  word: Uint32Array,
  rows: Int32Array,
  values: Float64Array,
  sums: Float64Array,
  first: number,
  width: number,
): void {
  const [second, third, fourth] = [first + width, first + 2 * width, first + 3 * width];
  for (let i = 0; i < rows.length; i++) {
    const [bins, value] = [word[rows[i]], values[i]];
    sums[first + (bins & 255)] += value;
    sums[second + (bins >>> 8 & 255)] += value;
    sums[third + (bins >>> 16 & 255)] += value;
    sums[fourth + (bins >>> 24)] += value;
  }
}

/**
 * Finds the split of a feature with the largest gain GL^2 / (HL + lambda) + GR^2 / (HR + lambda) - G^2 / (H + lambda),
 * for sums G of gradients and H of second derivatives: the decrease of the loss by a Newton step in each leaf, up to a
 * factor (Friedman 2001, eq. 35, for H = 1). Missing values are tried on both sides.
 */
function scanFeature(
  total: Sums<number>,
  sums: Sums<Float64Array>,
  count: number,
  feature: number,
  ends: number,
  hasMissing: boolean,
  { unit, scale, width, l2, leafRows }: TreeLimits & { unit: number; scale: number; width: number },
  best: Split,
): void {
  const { packed, hessian } = sums;
  const [first, share, penalty] = [feature * width, 1 / unit, l2 + tiny];
  const absent = hasMissing ? packed[first + ends + 1] : 0;
  const gradient = total.packed - count * unit;
  const [H, squared] = [total.hessian!, scale * scale];
  const whole = gradient * gradient / (H + penalty);
  let most = best.gain * squared + whole;
  for (let side = 0; side < (absent === 0 ? 1 : 2); side++) {
    let sum = side === 0 ? 0 : absent;
    let h = side === 0 || !hessian ? 0 : hessian[first + ends + 1];
    // All known values go left only if the missing values go right.
    const last = side === 0 && absent !== 0 ? ends : ends - 1;
    for (let bin = 0; bin <= last; bin++) {
      const own = packed[first + bin];
      if (own === 0) continue;
      sum += own;
      if (hessian) h += hessian[first + bin];
      const rows = Math.floor(sum * share + 0.5);
      if (rows < leafRows) continue;
      if (count - rows < leafRows) break;
      if (!hessian) h = rows;
      const left = sum - rows * unit;
      const right = gradient - left;
      const [hLeft, hRight] = [h + penalty, H - h + penalty];
      const gain = (left * left * hRight + right * right * hLeft) / (hLeft * hRight);
      if (!(gain > most)) continue;
      most = gain;
      best.gain = (gain - whole) / squared;
      best.feature = feature;
      best.end = bin;
      best.isMissingLeft = side === 1;
      best.packed = sum;
      best.hessian = h;
      best.rows = rows;
    }
  }
}

/** Moves the rows of the left side before the others, in their order. */
function partition(rows: Int32Array, word: Uint32Array, shift: number, end: number, missing: number): void {
  const others = new Int32Array(rows.length);
  let [kept, moved] = [0, 0];
  for (let i = 0; i < rows.length; i++) {
    const bin = word[rows[i]] >>> shift & 255;
    if (bin <= end || bin === missing) rows[kept++] = rows[i];
    else others[moved++] = rows[i];
  }
  rows.set(others.subarray(0, moved), kept);
}

/** Random features of a split, in their order; all of them for the share 1. */
function chosenFeatures(count: number, share: number, key: Key): number[] {
  const all = Array.from({ length: count }, (_, i) => i);
  const size = Math.max(1, Math.round(share * count));
  if (size >= count) return all;
  for (let i = 0; i < size; i++) {
    const other = i + Math.floor(unitPair(key, i)[0] * (count - i));
    [all[i], all[other]] = [all[other], all[i]];
  }
  return all.slice(0, size).sort((a, b) => a - b);
}
