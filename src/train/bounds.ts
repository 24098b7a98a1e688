/** What a number may be. */
export interface Bounds {
  /** The least. */
  readonly from?: number;
  /** What it must exceed. */
  readonly above?: number;
  /** What it must stay under. */
  readonly below?: number;
  /** Whether it has no fraction. */
  readonly whole?: boolean;
}

/** Whether a value is a number within bounds. */
export function isWithin(value: unknown, bounds: Bounds): value is number {
  const { from = -Infinity, above = -Infinity, below = Infinity, whole = false } = bounds;
  return typeof value === "number" && Number.isFinite(value) && value >= from && value > above &&
    value < below && (!whole || Number.isSafeInteger(value));
}

/** Bounds in words, as `whole number of at least 1`. */
export function describeBounds({ from, above, below, whole }: Bounds): string {
  const limits = [
    ...(from !== undefined ? [`of at least ${from}`] : []),
    ...(above !== undefined ? [`above ${above}`] : []),
    ...(below !== undefined ? [`below ${below}`] : []),
  ];
  return `${whole ? "whole " : ""}number ${limits.join(" and ")}`.trimEnd();
}
