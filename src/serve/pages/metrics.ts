/** Counts and latencies in the text format of Prometheus. */

/** Label values of a metric, by label name. */
export type Labels = Readonly<Record<string, string | number>>;

/** A metric that a server exports. */
export interface Metric {
  /** Returns the metric in the text format of Prometheus. */
  text(): string;
}

/** A number that only increases. */
export interface Counter extends Metric {
  /** Adds 1, or the number `by`. */
  add(labels?: Labels, by?: number): void;
}

/** A histogram of numbers. */
export interface Histogram extends Metric {
  /** Adds a number to the histogram. */
  observe(value: number, labels?: Labels): void;
}

/** Upper bounds of the latency buckets, in seconds. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Makes a counter of events, by labels. */
export function counter(name: string, help: string): Counter {
  const counts = new Map<string, number>();
  return {
    add: (labels = {}, by = 1) => {
      const key = labelsText(labels);
      counts.set(key, (counts.get(key) ?? 0) + by);
    },
    text: () =>
      family(name, "counter", help, Array.from(counts, ([labels, count]) => `${name}${labels} ${count}`)),
  };
}

/** Makes a metric of a current value. */
export function gauge(
  name: string,
  help: string,
  value: () => number,
  type: "gauge" | "counter" = "gauge",
): Metric {
  return { text: () => family(name, type, help, [`${name} ${value()}`]) };
}

/** Makes a metric of current values, by labels. */
export function gauges(
  name: string,
  help: string,
  values: () => readonly (readonly [Labels, number])[],
): Metric {
  return {
    text: () =>
      family(name, "gauge", help, values().map(([labels, value]) => `${name}${labelsText(labels)} ${value}`)),
  };
}

/** Makes a histogram of latencies in seconds, by labels. */
export function histogram(name: string, help: string): Histogram {
  const records = new Map<string, { labels: Labels; counts: number[]; sum: number }>();
  return {
    observe: (value, labels = {}) => {
      const key = labelsText(labels);
      let record = records.get(key);
      if (!record) {
        records.set(key, record = { labels, counts: new Array(bounds.length + 1).fill(0), sum: 0 });
      }
      const bucket = bounds.findIndex((bound) => value <= bound);
      record.counts[bucket < 0 ? bounds.length : bucket]++;
      record.sum += value;
    },
    text: () =>
      family(
        name,
        "histogram",
        help,
        Array.from(records, ([key, { labels, counts, sum }]) => {
          let total = 0;
          const buckets = [...bounds, "+Inf"].map((le, i) =>
            `${name}_bucket${labelsText({ ...labels, le })} ${total += counts[i]}`
          );
          return [...buckets, `${name}_sum${key} ${sum}`, `${name}_count${key} ${total}`].join("\n");
        }),
      ),
  };
}

/** Media type of the text format of Prometheus. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

function family(name: string, type: string, help: string, lines: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].map((line) => `${line}\n`).join("");
}

function labelsText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(`${value}`)}`);
  return parts.length > 0 ? `{${parts.join(",")}}` : "";
}
