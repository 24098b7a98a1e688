/**
 * Prints a table whose classes or numbers depend on the order and the times of what happens. Means, ranges and other
 * summaries of each channel say little. Times are uneven, and one reading in ten is missing.
 *
 *     deno run examples/timing.ts oscillator > train.csv
 *     deno run examples/timing.ts oscillator --first 300 --count 500 > test.csv
 *
 * Tables: `events` (three events follow each other in one of two orders), `oscillator` (a hidden oscillation is slow
 * or fast), `regimes` (first one channel leads and the other follows, later they change roles) and `dosing`
 * (a number: the concentration after infusions whose rate changes, from the amount infused so far).
 */
import { parseArgs } from "node:util";
import { foldIn, key, uniform } from "../mod.ts";

/** Draws a number between two bounds. */
type Draw = (low: number, high: number) => number;
/** A row: its time and the values of the channels. */
type Row = readonly number[];

interface Table {
  readonly columns: string;
  /** Makes the rows of a series, and its class or number. @param half Whether the series is of the second class. */
  make(draw: Draw, half: boolean): { rows: Row[]; target: string };
}

/** A number with a mean of 0 and a standard deviation of 1: a sum of uniform numbers. */
const noise = (draw: Draw) => draw(-1, 1) + draw(-1, 1) + draw(-1, 1);

const tables: Readonly<Record<string, Table>> = {
  events: {
    columns: "a,b,c,label",
    make(draw, isReversed) {
      let event = Math.floor(draw(0, 3));
      let time = draw(0, 1);
      const rows = Array.from({ length: Math.floor(draw(20, 40)) }, () => {
        const row = [time, ...[0, 1, 2].map((one) => one === event ? 1 : 0)];
        event = (event + (isReversed ? 2 : 1)) % 3;
        time += draw(0.2, 1.8);
        return row;
      });
      return { rows, target: isReversed ? "acb" : "abc" };
    },
  },
  oscillator: {
    columns: "x,label",
    make(draw, isFast) {
      const [pace, phase, size] = [draw(0.9, 1.1) * (isFast ? 1.5 : 1), draw(0, 6.3), draw(0.7, 1.3)];
      let time = draw(0, 3);
      const rows = Array.from({ length: Math.floor(draw(30, 50)) }, () => {
        time += draw(0.1, 1.1);
        return [time, size * Math.sin(pace * time + phase) + 0.1 * noise(draw)];
      });
      return { rows, target: isFast ? "fast" : "slow" };
    },
  },
  regimes: {
    columns: "x,y,label",
    make(draw, isReversed) {
      const length = Math.floor(draw(35, 50));
      const change = length * draw(0.35, 0.65);
      let [time, signal] = [draw(0, 1), 0];
      const rows = Array.from({ length }, (_, i) => {
        const leads = (i < change) !== isReversed;
        const before = signal;
        signal = 0.5 * signal + noise(draw);
        const [leader, follower] = [signal, before].map((value) => value + 0.3 * noise(draw));
        time += draw(0.2, 1.8);
        return [time, ...leads ? [leader, follower] : [follower, leader]];
      });
      return { rows, target: isReversed ? "y leads first" : "x leads first" };
    },
  },
  dosing: {
    columns: "amount,weight,concentration",
    make(draw) {
      const [weight, length] = [draw(50, 100), Math.floor(draw(15, 30))];
      let [time, amount, level] = [0, 0, 0];
      const rows: Row[] = [[time, amount, weight]];
      for (let i = 0; i < length; i++) {
        const [rate, gap] = [draw(0, 1) < 0.5 ? 0 : draw(1, 6), Math.exp(draw(-2.5, 1))];
        // Michaelis-Menten elimination: the speed has a limit.
        const steps = 50;
        for (let step = 0; step < steps; step++) {
          level += gap / steps * (50 * rate / weight - 3 * level / (2 + level));
        }
        time += gap;
        amount += gap * rate;
        rows.push([time, amount, weight]);
      }
      return { rows, target: (level * (1 + 0.05 * noise(draw))).toFixed(4) };
    },
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "300" },
    first: { type: "string", default: "0" },
    seed: { type: "string", default: "0" },
  },
});
const name = positionals[0] ?? "oscillator";
const table = Object.hasOwn(tables, name) ? tables[name] : undefined;
if (!table) throw new Error(`unknown table "${name}"; expected ${Object.keys(tables).join(", ")}`);

/** Numbers that a series draws, at most. */
const mostNumbers = 800;
const [first, count] = [Number(values.first), Number(values.count)];
console.log(`series,time,${table.columns}`);
for (let series = first; series < first + count; series++) {
  const random = (await uniform(foldIn(key(Number(values.seed)), series), [mostNumbers]).data()).values();
  const draw: Draw = (low, high) => low + (high - low) * random.next().value!;
  const { rows, target } = table.make(draw, series % 2 === 1);
  for (const [time, ...values] of rows) {
    const read = values.map((value) => name !== "dosing" && draw(0, 1) < 0.1 ? "" : value.toFixed(3));
    console.log([`s${series}`, time.toFixed(2), ...read, target].join());
  }
}
