/** Numbers, durations and dates as people write them. */

/** Formats a number with at most `digits` significant digits; `–` if the number is not finite. */
export function formatNumber(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return rounded.toExponential().replace("e+", "e");
  return size >= 1e4 ? rounded.toLocaleString("en") : `${rounded}`;
}

/** Formats a fraction as a percentage with `digits` digits after the point. */
export function formatPercent(fraction: number, digits = 2): string {
  return Number.isFinite(fraction) ? `${(100 * fraction).toFixed(digits)} %` : "–";
}

/** Formats a number of things: `1 window`, `3 windows`. */
export function counted(count: number, unit: string): string {
  return `${formatNumber(count)} ${unit}${count === 1 ? "" : "s"}`;
}

/** Units of durations in seconds, the longest first. */
const units = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]] as const;

/**
 * Formats a duration: `2.5 seconds`, `30 minutes`, `3 minutes 7 seconds`, `1 day`. Durations of a minute or
 * more are rounded to two units.
 */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "unknown time";
  if (Math.abs(seconds) < 59.5) return counted(Number(seconds.toPrecision(2)), "second");
  const largest = units.findIndex(([, size]) => Math.round(seconds) >= size);
  const [unit, size] = units[largest];
  // A whole number of a smaller unit reads better as that unit: 90 minutes, 36 hours.
  const whole = units.slice(largest, largest + 2)
    .find(([unit, size]) => unit !== "second" && Math.abs(seconds % size) < 1e-6 * size);
  if (whole && seconds / whole[1] < 100) return counted(Math.round(seconds / whole[1]), whole[0]);
  const [nextUnit, nextSize] = units[largest + 1];
  const rest = Math.round((seconds % size) / nextSize);
  const count = Math.floor(seconds / size);
  if (rest * nextSize === size) return counted(count + 1, unit);
  return rest === 0 ? counted(count, unit) : `${counted(count, unit)} ${counted(rest, nextUnit)}`;
}

/**
 * Formats a number of time steps: `8 hours`, `12 months`, or `3 steps of 0.5` where the unit is unknown.
 *
 * @param gap Length of a step: in seconds for dates, in calendar months for months.
 */
export function formatSteps(steps: number, gap: number, kind: "number" | "date" | "month"): string {
  if (kind === "date") return formatDuration(steps * gap);
  if (kind === "number") return `${counted(steps, "step")} of ${formatNumber(gap)}`;
  return gap % 12 === 0 ? counted(steps * gap / 12, "year") : counted(steps * gap, "month");
}

/** Formats a number of time steps with the length of one: `2 steps of 1 day`, or `3 steps of 0.5`. */
export function countedSteps(steps: number, gap: number, kind: "number" | "date" | "month"): string {
  return kind === "number"
    ? formatSteps(steps, gap, kind)
    : `${counted(steps, "step")} of ${formatSteps(1, gap, kind)}`;
}

/** Formats a time in seconds since 1970 as a date in UTC. Omits seconds of 0, and a time of 00:00. */
export function formatDate(seconds: number): string {
  const text = new Date(1000 * seconds).toISOString();
  return text.slice(0, 19).replace("T", " ").replace(/:00$/, "").replace(/ 00:00$/, "");
}

/** Escapes a text for HTML and SVG. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Escapes a sentence for HTML. Lines do not break between a number and its percent sign. */
export function escapeSentence(text: string): string {
  return escapeText(text).replaceAll(/(\d) %/g, "$1&nbsp;%");
}
