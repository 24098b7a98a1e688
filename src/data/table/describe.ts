/** Summary of the series of a table, for users who want to train on them. */
import { formatSteps } from "../../charts/format.ts";
import { largest, smallest } from "../../device/min_max.ts";
import { describeTime } from "../format.ts";
import { isUnnamed, type SeriesSet } from "../series.ts";

/** Lines about a set: its series, times, channels, classes, ignored columns and notices. */
export function describeSeries(set: SeriesSet): string[] {
  const { series, channels, classes, ignored = [], notices = [] } = set;
  const lengths = series.map(({ times }) => times.length);
  const described = channels.map((_, i) => describeChannel(set, i));
  const alone = lengths.filter((length) => length === 1).length;
  const members = classes.map((name, i) => `${name} (${series.filter(({ label }) => label === i).length})`);
  const groups = new Set(series.flatMap(({ group }) => group ?? []));
  return [
    `${series.length} series of ${range(lengths)} observations` +
    (alone > 0 ? `; ${alone} with a single observation, so without change over time` : "") +
    (groups.size > 0 ? `; ${groups.size} groups` : ""),
    describeTimes(set),
    ...(isUnnamed(described, set.columns) ? [] : [`channels: ${described.join(", ")}`]),
    ...(classes.length > 0 ? [`classes: ${firstNames(members)}`] : []),
    ...(set.targets ?? []).map((name, i) =>
      `target ${name}: ${range(series.map(({ targets }) => targets![i]))}`
    ),
    ...(ignored.length > 0 ? [`left out: ${ignored.join(", ")}`] : []),
    ...notices,
  ];
}

function describeTimes({ series, times: kind, zone }: SeriesSet): string {
  const filled = series.filter(({ times }) => times.length > 0);
  const [first, last] = [
    smallest(filled.map(({ times }) => times[0])),
    largest(filled.map(({ times }) => times.at(-1)!)),
  ];
  const count = filled.reduce((sum, { times }) => sum + times.length - 1, 0);
  const gaps = new Float64Array(count);
  let at = 0;
  for (const { times } of filled) for (let i = 1; i < times.length; i++) gaps[at++] = times[i] - times[i - 1];
  return `times: ${kind}s${zone ? ` of ${zone}` : ""} from ${describeTime(first, kind)} to ${
    describeTime(last, kind)
  }` +
    (count > 0
      ? `; ${range(gaps, kind === "number" ? short : (gap) => formatSteps(1, gap, kind))} apart`
      : "");
}

function describeChannel({ series, channels, kinds }: SeriesSet, channel: number): string {
  let [count, missing] = [0, 0];
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of series) {
    for (let i = channel; i < values.length; i += channels.length) {
      count++;
      const value = values[i];
      if (Number.isNaN(value)) missing++;
      else if (value < low || value > high) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
  }
  const role = kinds?.[channel].role ?? "observed";
  const notes = [
    ...(role === "observed" ? [] : [role]),
    ...(missing === 0
      ? []
      : missing === count
      ? ["all values missing"]
      : [`${percent(missing / count)} missing`]),
    ...(low === high ? [`constant ${short(low)}, which carries no information`] : []),
  ];
  return channels[channel] + (notes.length > 0 ? ` (${notes.join("; ")})` : "");
}

/** Minimum, median and maximum of some numbers. */
function range(values: ArrayLike<number>, show: (value: number) => string = short): string {
  const sorted = Float64Array.from(values).sort();
  const [low, median, high] = [sorted[0], sorted[sorted.length >> 1], sorted[sorted.length - 1]].map(show);
  return low === high ? low : `${low} to ${high} (median ${median})`;
}

function short(value: number): string {
  return `${Number(value.toPrecision(6))}`;
}

function percent(share: number): string {
  return share < 0.001 ? "less than 0.1 %" : `${Number((100 * share).toPrecision(2))} %`;
}

function firstNames(names: readonly string[], max = 20): string {
  return names.slice(0, max).join(", ") + (names.length > max ? ` and ${names.length - max} more` : "");
}
