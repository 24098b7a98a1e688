/**
 * Growth of regression trees by histograms: Ke et al., "LightGBM" (2017), sections 2.1 and 3. The leaf whose
 * split gains the most is split next.
 */
import { unitPair } from "../../data/host_random.ts";
import { largest } from "../../device/min_max.ts";
import type { Key } from "../../tensor/random.ts";
import type { FeatureBins } from "./feature_bins.ts";

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
  /** Share of the features that a tree chooses from, above 0 and at most 1. */
  readonly columnShare: number;
}

/** Nodes of trees, in lists that grow or in arrays. */
export interface Nodes<Integers = number[], Numbers = Integers> {
  /** Feature of each split; -1 for a leaf. */
  readonly feature: Integers;
  /** Values up to the threshold go to the node `left`, larger values to the next one, and NaN to `missing`. */
  readonly threshold: Numbers;
  readonly left: Integers;
  readonly missing: Integers;
  /** Value of each leaf; 0 for a split. */
  readonly value: Numbers;
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
  /** Sums of each bin of the features, `width` numbers for each feature. */
  readonly sums: Sums<Float64Array>;
  /** Sums of all rows. */
  readonly total: Required<Sums<number>>;
  readonly split?: Split;
}

/**
 * Sums over rows. `packed` has the gradients and the number of rows in one number. `hessian` is absent if it is the
 * number of rows.
 */
interface Sums<T> {
  readonly packed: T;
  readonly hessian?: T;
}

/** A split of a leaf by the feature with this position among those of the tree. */
interface Split {
  gain: number;
  feature: number;
  /** Rows of the bins from 0 to `end` go left. */
  end: number;
  isMissingLeft: boolean;
  /** Number of rows of the left side, and their sums. */
  rows: number;
  packed: number;
  hessian: number;
}

const noSplit = { feature: -1, end: 0, isMissingLeft: false, rows: 0, packed: 0, hessian: 0 };

/** Smallest gain of a split, as a fraction of the squared gradients: smaller gains may be rounding errors. */
const minGain = 1e-9;
/** Keeps divisors above 0. */
const tiny = 1e-9;
/** Number of features whose bins share a word. */
const perWord = 4;

/** Makes a function that grows trees on the same table. */
export function treeGrower(table: readonly FeatureBins[], limits: TreeLimits) {
  const width = table.reduce((most, { thresholds }) => Math.max(most, thresholds.length), 0) + 2;
  const count = Math.max(1, Math.round(limits.columnShare * table.length));
  const free: Float64Array[] = [];
  let [features, words] = count < table.length ? [[], []] : [table, wordsOf(table)];

  const histogramOf = (rows: Int32Array, values: Float64Array): Float64Array => {
    const sums = free.pop()?.fill(0) ?? new Float64Array(words.length * perWord * width);
    const own = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i++) own[i] = values[rows[i]];
    words.forEach((word, w) => addRows(word, rows, own, sums, w * perWord * width, width));
    return sums;
  };

  /**
   * Grows a tree on some rows, and adds its nodes.
   *
   * @param rows Positions of the rows in the table; afterwards in the order of the leaves.
   * @returns The leaves. Their values are 0.
   */
  return (rows: Int32Array, { gradients, hessians }: Derivatives, nodes: Nodes, key: Key): Leaf[] => {
    if (count < table.length) {
      features = chooseFeatures(table, count, key);
      words = wordsOf(features);
    }
    const { packed, ...packing } = pack(gradients, rows.length);
    const rules = { ...packing, ...limits, width };
    const sumsOf = (some: Int32Array) => ({
      packed: histogramOf(some, packed),
      ...(hessians ? { hessian: histogramOf(some, hessians) } : {}),
    });
    const total = { packed: sumOf(rows, packed), hessian: hessians ? sumOf(rows, hessians) : rows.length };
    const squares = rows.reduce((sum, row) => sum + gradients[row] ** 2, 0);
    const least = minGain * squares * rows.length / (total.hessian + tiny);
    const open = (leaf: OpenLeaf): OpenLeaf => {
      const best: Split = { gain: least, ...noSplit };
      if (leaf.depth < limits.depth && leaf.end - leaf.start >= 2 * limits.leafRows) {
        features.forEach((one, f) => scanFeature(leaf, one, f, rules, best));
      }
      return best.feature < 0 ? leaf : { ...leaf, split: best };
    };
    const leaves = [
      open({ node: addLeaf(nodes), start: 0, end: rows.length, depth: 0, sums: sumsOf(rows), total }),
    ];
    while (leaves.length < limits.leaves) {
      const gains = leaves.map(({ split }) => split?.gain ?? 0);
      const index = gains.indexOf(largest(gains));
      const { split, node, start, end, sums, ...leaf } = leaves[index];
      if (!split) break;
      const { feature, bins, thresholds } = features[split.feature];
      const middle = start + split.rows;
      const [left, right] = [addLeaf(nodes), addLeaf(nodes)];
      nodes.feature[node] = feature;
      nodes.threshold[node] = thresholds[split.end] ?? Infinity;
      nodes.left[node] = left;
      nodes.missing[node] = split.isMissingLeft ? left : right;
      partition(rows.subarray(start, end), bins, split.end, split.isMissingLeft ? thresholds.length + 1 : -1);
      // The histogram of the larger child is that of the parent minus that of the smaller child.
      const isLeftSmaller = 2 * split.rows <= end - start;
      const smaller = sumsOf(isLeftSmaller ? rows.subarray(start, middle) : rows.subarray(middle, end));
      subtract(sums.packed, smaller.packed);
      if (sums.hessian) subtract(sums.hessian, smaller.hessian!);
      const depth = leaf.depth + 1;
      const { packed, hessian } = split;
      leaves[index] = open({
        ...{ node: left, start, end: middle, depth, total: { packed, hessian } },
        sums: isLeftSmaller ? smaller : sums,
      });
      leaves.push(open({
        ...{ node: right, start: middle, end, depth },
        total: { packed: leaf.total.packed - packed, hessian: leaf.total.hessian - hessian },
        sums: isLeftSmaller ? sums : smaller,
      }));
    }
    for (const { sums } of leaves) free.push(sums.packed, ...(sums.hessian ? [sums.hessian] : []));
    return leaves;
  };
}

/** Bins of four features in one word for each row, one byte for each feature. */
function wordsOf(features: readonly FeatureBins[]): Uint32Array[] {
  const words: Uint32Array[] = [];
  features.forEach(({ bins }, f) => {
    const shift = 8 * (f % perWord);
    if (shift === 0) words.push(new Uint32Array(bins.length));
    const word = words[words.length - 1];
    for (let i = 0; i < bins.length; i++) word[i] |= bins[i] << shift;
  });
  return words;
}

/** Units of packed numbers. */
interface Packing {
  readonly unit: number;
  readonly scale: number;
}

/**
 * Packs each gradient and a count of 1 into one number: unit + round(gradient scale). Sums of up to `count` packed
 * numbers are exact. With 100,000 rows a gradient has 18 bits, with a million 12; 5 are enough (Shi et al.,
 * "Quantized Training of Gradient Boosting Decision Trees", 2022).
 */
function pack(gradients: Float64Array, count: number): Packing & { packed: Float64Array } {
  const bits = 32 - Math.clz32(count);
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

function addLeaf({ feature, threshold, left, missing, value }: Nodes): number {
  const node = feature.length;
  feature.push(-1);
  for (const numbers of [threshold, left, missing, value]) numbers.push(0);
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
    const bins = word[rows[i]];
    const value = values[i];
    sums[first + (bins & 255)] += value;
    sums[second + (bins >>> 8 & 255)] += value;
    sums[third + (bins >>> 16 & 255)] += value;
    sums[fourth + (bins >>> 24)] += value;
  }
}

/**
 * Finds the split of a leaf by a feature with the largest gain GL^2 / (HL + lambda) + GR^2 / (HR + lambda) -
 * G^2 / (H + lambda), for sums G of gradients and H of second derivatives: twice the decrease of the loss by Newton
 * steps (Friedman 2001, eq. 35, has H = 1). Missing values are tried on both sides.
 */
function scanFeature(
  { start, end, total, sums: { packed, hessian } }: OpenLeaf,
  { thresholds, hasMissing }: FeatureBins,
  feature: number,
  { unit, scale, width, l2, leafRows }: Packing & TreeLimits & { width: number },
  best: Split,
): void {
  const [count, first, absentBin] = [end - start, feature * width, feature * width + thresholds.length + 1];
  const [perUnit, penalty, squared] = [1 / unit, l2 + tiny, scale * scale];
  const absent = hasMissing ? packed[absentBin] : 0;
  const [G, H] = [total.packed - count * unit, total.hessian];
  const whole = G * G / (H + penalty);
  let most = best.gain * squared + whole;
  for (let side = 0; side < (absent === 0 ? 1 : 2); side++) {
    let sum = side === 0 ? 0 : absent;
    let h = side === 0 || !hessian ? 0 : hessian[absentBin];
    // All known values go left only if the missing values go right.
    const last = thresholds.length - (side === 0 && absent !== 0 ? 0 : 1);
    for (let bin = 0; bin <= last; bin++) {
      const own = packed[first + bin];
      if (own === 0) continue;
      sum += own;
      if (hessian) h += hessian[first + bin];
      const rows = Math.floor(sum * perUnit + 0.5);
      if (rows < leafRows) continue;
      if (count - rows < leafRows) break;
      if (!hessian) h = rows;
      const left = sum - rows * unit;
      const right = G - left;
      const hLeft = h + penalty;
      const hRight = H - h + penalty;
      const gain = (left * left * hRight + right * right * hLeft) / (hLeft * hRight);
      if (!(gain > most)) continue;
      most = gain;
      best.gain = (gain - whole) / squared;
      best.feature = feature;
      best.end = bin;
      // Without missing values, the side with more rows takes them.
      best.isMissingLeft = side === 1 || absent === 0 && 2 * rows > count;
      best.rows = rows;
      best.packed = sum;
      best.hessian = h;
    }
  }
}

/** Moves the rows of the left side before the others, in their order. */
function partition(rows: Int32Array, bins: Uint8Array, end: number, missing: number): void {
  const others = new Int32Array(rows.length);
  let [kept, moved] = [0, 0];
  for (let i = 0; i < rows.length; i++) {
    const bin = bins[rows[i]];
    if (bin <= end || bin === missing) rows[kept++] = rows[i];
    else others[moved++] = rows[i];
  }
  rows.set(others.subarray(0, moved), kept);
}

/** Some random features. */
function chooseFeatures(table: readonly FeatureBins[], count: number, key: Key): FeatureBins[] {
  const order = table.slice();
  for (let i = 0; i < count; i++) {
    const other = i + Math.floor(unitPair(key, i)[0] * (order.length - i));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order.slice(0, count);
}
