/** Range of a number. */
export interface Bounds {
  /** Minimum, inclusive. */
  readonly from?: number;
  /** Lower bound, exclusive. */
  readonly above?: number;
  /** Upper bound, exclusive. */
  readonly below?: number;
  /** Whether the number must be an integer. False by default. */
  readonly whole?: boolean;
}

/** Bounds of a size or a count. */
export const size: Bounds = { from: 1, whole: true };

/** Whether a value is a number within bounds. */
export function isWithin(value: unknown, bounds: Bounds): value is number {
  const { from = -Infinity, above = -Infinity, below = Infinity, whole = false } = bounds;
  return typeof value === "number" && Number.isFinite(value) && value >= from && value > above &&
    value < below && (!whole || Number.isSafeInteger(value));
}

/** Describes bounds, such as `whole number of at least 1`. */
export function describeBounds(bounds: Bounds): string {
  const { from, above, below, whole } = bounds;
  const limits = [
    ...(from !== undefined ? [`of at least ${from}`] : []),
    ...(above !== undefined ? [`above ${above}`] : []),
    ...(below !== undefined ? [`below ${below}`] : []),
  ];
  return `${whole ? "whole " : ""}number ${limits.join(" and ")}`.trimEnd();
}
