/** Ticks of a time axis at round dates, in UTC. */

/** A label at a value of an axis. */
export interface Tick {
  readonly value: number;
  readonly label: string;
}

const [minute, hour, day] = [60, 3600, 86_400];

/** Steps of fixed length in seconds, the shortest first. */
const fixedSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10].map((count) => count * day),
];

/** Steps of the calendar in months, the shortest first. */
const monthSteps = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/**
 * Ticks at round dates.
 *
 * @param low Start of the axis, in seconds since 1970.
 * @param high End of the axis, after its start.
 * @param most Maximum number of ticks, at least 2.
 */
export function dateTicks(low: number, high: number, most: number): Tick[] {
  const span = high - low;
  if (span < 2) return [{ value: low, label: clock(low, true) }];
  const step = fixedSteps.find((step) => span / step <= most - 1);
  if (step !== undefined) {
    const ticks: Tick[] = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      ticks.push({ value, label: step >= day || value % day === 0 ? dayOf(value) : clock(value, step < 60) });
    }
    return ticks;
  }
  const monthAt = (seconds: number) => {
    const date = new Date(1000 * seconds);
    return 12 * (date.getUTCFullYear() - 1970) + date.getUTCMonth();
  };
  const secondsAt = (month: number) => Date.UTC(1970, month) / 1000;
  return monthTicks(monthAt(low), monthAt(high) + 1, most)
    .map(({ value, label }) => ({ value: secondsAt(value), label }))
    .filter(({ value }) => value >= low && value <= high);
}

/**
 * Ticks at round months, between two numbers of months since January 1970.
 *
 * @param most Maximum number of ticks, at least 2.
 */
export function monthTicks(low: number, high: number, most: number): Tick[] {
  const step = monthSteps.find((step) => (high - low) / step <= most - 1) ?? monthSteps.at(-1)!;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => {
    const value = (first + i) * step;
    const year = `${1970 + Math.floor(value / 12)}`;
    return {
      value,
      label: step % 12 === 0 ? year : `${months[value - 12 * Math.floor(value / 12)]} ${year}`,
    };
  });
}

function dayOf(seconds: number): string {
  const date = new Date(1000 * seconds);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]}`;
}

function clock(seconds: number, withSeconds: boolean): string {
  return new Date(1000 * seconds).toISOString().slice(11, withSeconds ? 19 : 16);
}
