/** Scales of axes: from values to positions along an axis, with ticks at round numbers or dates. */
import { dateTicks, monthTicks, type Tick } from "./dates.ts";
import { formatDate, formatNumber } from "./format.ts";

/** An axis of a chart. */
export interface Axis {
  /** Name of the quantity. */
  readonly title: string;
  /** Unit of the values, shown behind the title. */
  readonly unit?: string;
  /**
   * `"linear"` by default. `"auto"`: logarithmic if the values are positive and the largest is more than 50
   * times the smallest. `"date"`: seconds since 1970. `"month"`: months since January 1970.
   */
  readonly scale?: "linear" | "log" | "auto" | "date" | "month";
  /** Whether values are fractions, shown as percentages. */
  readonly isPercent?: boolean;
  /** Whether ticks are whole numbers. */
  readonly isWhole?: boolean;
  /** Values that the axis includes at least, such as `[0, 1]`. */
  readonly includes?: readonly number[];
  /** Names of the values 0, 1, ..., one tick each. */
  readonly categories?: readonly string[];
}

/** Maps values to positions along an axis, from 0 at its start to 1 at its end. */
export interface Scale {
  readonly ticks: readonly Tick[];
  readonly isLogarithmic: boolean;
  /** Date where a time axis starts, if the ticks do not show it. */
  readonly start?: string;
  /** Smallest and largest value of the axis. */
  readonly range: readonly [low: number, high: number];
  /** Position of a value; not finite if the scale is logarithmic and the value is not positive. */
  place(value: number): number;
}

/** Ratio of the largest to the smallest value above which an automatic scale is logarithmic. */
const logarithmicRatio = 50;

/** Smallest and largest finite number, or `[0, 1]` without finite numbers. */
export function extent(values: Iterable<number>): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

/**
 * Makes the scale of an axis.
 *
 * @param range Smallest and largest value of the data.
 * @param most Maximum number of ticks, at least 2.
 * @param isTight Whether the axis ends at the data instead of round numbers.
 */
export function scaleOf(
  axis: Axis,
  range: readonly [low: number, high: number],
  most: number,
  isTight = false,
): Scale {
  const [low, high] = extent([...range, ...axis.includes ?? []]);
  if (axis.categories) return categoryScale(axis.categories);
  if (axis.scale === "date") {
    const [from, to] = widened(low, high, 43_200);
    const ticks = dateTicks(from, to, most);
    const showsYear = ticks.some(({ label }) => /\d{4}$/.test(label));
    return {
      ...linear(ticks, from, to),
      ...(showsYear ? {} : { start: formatDate(from).slice(0, 10) }),
    };
  }
  if (axis.scale === "month") {
    const [from, to] = widened(low, high, 1);
    return linear(monthTicks(from, to, most), from, to);
  }
  const isLogarithmic = low > 0 &&
    (axis.scale === "log" || axis.scale === "auto" && high / low > logarithmicRatio);
  if (isLogarithmic) return logarithmicScale(axis, low, high, most);
  const [from, to] = low < high
    ? [low, high]
    : isFraction(low)
    ? [0, 1]
    : widened(low, high, Math.abs(low) / 2);
  const { step, first, last } = roundSteps(from, to, most, isTight, axis.isWhole);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => {
    const value = Number(((first + i) * step).toPrecision(12));
    return { value, label: labelOf(value, step, axis.isPercent) };
  });
  return isTight ? linear(ticks, from, to) : linear(ticks, ticks[0].value, ticks.at(-1)!.value);
}

function isFraction(value: number): boolean {
  return value >= 0 && value <= 1;
}

function widened(low: number, high: number, by: number): [number, number] {
  return low === high ? [low - by, high + by] : [low, high];
}

function linear(ticks: readonly Tick[], low: number, high: number): Scale {
  return { ticks, isLogarithmic: false, range: [low, high], place: (value) => (value - low) / (high - low) };
}

/**
 * Smallest step of 1, 2 or 5 times a power of ten that gives at most `most` ticks, and the first and the last
 * tick as multiples of the step: inside the range if it is tight, else around it.
 */
function roundSteps(
  from: number,
  to: number,
  most: number,
  isTight: boolean,
  isWhole = false,
): { step: number; first: number; last: number } {
  const power = Math.floor(Math.log10((to - from) / most)) - 1;
  for (let i = 0;; i++) {
    const step = Number(`${[1, 2, 5][i % 3]}e${power + Math.floor(i / 3)}`);
    if (isWhole && step < 1) continue;
    const [inner, outer] = isTight ? [Math.ceil, Math.floor] : [Math.floor, Math.ceil];
    const sign = isTight ? -1 : 1;
    const [first, last] = [inner(from / step + sign * 1e-9), outer(to / step - sign * 1e-9)];
    if (last - first < most) return { step, first, last };
  }
}

/** Formats the value of a tick with the digits of its step. */
function labelOf(value: number, step: number, isPercent = false): string {
  const [shown, size] = isPercent ? [100 * value, 100 * step] : [value, step];
  const digits = Math.max(0, -Math.floor(Math.log10(size) + 1e-9));
  const large = Math.abs(shown);
  const text = digits > 4 || large >= 1e7
    ? formatNumber(shown, 3)
    : large >= 1e4
    ? shown.toLocaleString("en", { maximumFractionDigits: digits })
    : shown.toFixed(digits);
  return isPercent ? `${text} %` : text;
}

function categoryScale(categories: readonly string[]): Scale {
  return {
    ticks: categories.map((label, value) => ({ value, label })),
    isLogarithmic: false,
    range: [-0.5, categories.length - 0.5],
    // The first category is at the top.
    place: (value) => 1 - (value + 0.5) / categories.length,
  };
}

/** Ends at powers of ten, or at 1, 2 and 5 times a power of ten if the values span less than two decades. */
function logarithmicScale({ isPercent }: Axis, low: number, high: number, most: number): Scale {
  const factors = high / low < 100 ? [1, 2, 5] : [1];
  const steps: number[] = [];
  for (let power = Math.floor(Math.log10(low)) - 1; 10 ** power <= high * 10; power++) {
    steps.push(...factors.map((factor) => Number(`${factor}e${power}`)));
  }
  const first = steps.findLastIndex((step) => step <= low * (1 + 1e-9));
  const last = Math.max(first + 1, steps.findIndex((step) => step >= high * (1 - 1e-9)));
  const inside = steps.slice(first, last + 1);
  const every = Math.max(1, Math.ceil((inside.length - 1) / Math.max(1, most - 1)));
  const [start, end] = [Math.log10(inside[0]), Math.log10(inside.at(-1)!)];
  return {
    ticks: inside.filter((_, i) => i % every === 0).map((value) => ({
      value,
      label: isPercent ? `${formatNumber(100 * value)} %` : formatNumber(value),
    })),
    isLogarithmic: true,
    range: [inside[0], inside.at(-1)!],
    place: (value) => (Math.log10(value) - start) / (end - start),
  };
}
