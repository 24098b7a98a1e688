/** Example data of the playground, made from a seed: irregular series with missing values. */
import type { Series, SeriesSet } from "../src/data/series.ts";
import { normalPair, unitPair } from "../src/data/host_random.ts";
import { type Key, key, splitKey } from "../src/tensor/random.ts";

/** A kind of example data. */
interface Example {
  readonly channels: readonly string[];
  readonly classes: readonly string[];
  /** Smallest and largest number of observations of a series. A series of `typical` observations takes a time of 1. */
  readonly lengths: readonly [least: number, most: number];
  readonly typical: number;
  /** Standard deviation of the noise on each value. */
  readonly noise: number;
  /** Fraction of the values that are missing. */
  readonly missing: number;
  /** Makes the curve of a series: the values at a fraction of its duration. @param uniform Uniform numbers in [0, 1). */
  curve(label: number, uniform: () => number): (time: number) => readonly number[];
}

const turn = 2 * Math.PI;

/** Corners of each gesture. The pen moves along straight lines. */
const gestures: readonly (readonly (readonly [number, number])[])[] = [
  [[-1, 0], [-0.3, -0.9], [1, 1]],
  [[-1, 0.8], [1, 0.8], [-1, -0.8], [1, -0.8]],
];

/** A point on straight lines through corners, at a time from 0 to 1. */
function along(corners: readonly (readonly [number, number])[], time: number): readonly number[] {
  const place = Math.min(time, 1) * (corners.length - 1);
  const piece = Math.min(Math.floor(place), corners.length - 2);
  return [0, 1].map((c) => corners[piece][c] + (place - piece) * (corners[piece + 1][c] - corners[piece][c]));
}

/** The kinds of example data by name. */
export const examples = {
  spirals: {
    channels: ["x", "y"],
    classes: ["counter-clockwise", "clockwise"],
    ...{ lengths: [12, 36], typical: 20, noise: 0.03, missing: 0.2 },
    curve(label, uniform) {
      const [start, turns] = [turn * uniform(), 0.8 + 1.2 * uniform()];
      const [size, inward] = [0.6 + 0.4 * uniform(), 0.5 + 2.5 * uniform()];
      return (time) => {
        const angle = start + (label === 0 ? 1 : -1) * turn * turns * time;
        return [Math.cos(angle), Math.sin(angle)].map((value) => size * value / (1 + inward * time));
      };
    },
  },
  gestures: {
    channels: ["x", "y"],
    classes: ["tick", "Z", "circle"],
    ...{ lengths: [20, 20], typical: 20, noise: 0.05, missing: 0.2 },
    curve(label, uniform) {
      const [size, x, y, tilt] = [0.7 + 0.4 * uniform(), uniform(), uniform(), 0.4 * uniform() - 0.2];
      const start = turn * uniform();
      const direction = uniform() < 0.5 ? 1 : -1;
      return (time) => {
        const [a, b] = label === 2
          ? [Math.cos(start + direction * turn * time), Math.sin(start + direction * turn * time)]
          : along(gestures[label], time);
        const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
        return [size * (cos * a - sin * b) + 0.4 * (x - 0.5), size * (sin * a + cos * b) + 0.4 * (y - 0.5)];
      };
    },
  },
  waves: {
    channels: ["value"],
    classes: ["slow", "fast"],
    ...{ lengths: [24, 24], typical: 24, noise: 0.05, missing: 0.1 },
    curve(label, uniform) {
      const [phase, turns] = [turn * uniform(), (label === 0 ? 1 : 2.2) + 0.4 * uniform()];
      return (time) => [Math.sin(phase + turn * turns * time)];
    },
  },
} as const satisfies Record<string, Example>;

/** Name of a kind of example data. */
export type ExampleName = keyof typeof examples;

/** Makes example series, the classes in turn. The same seed gives the same series. */
export function exampleSet(name: ExampleName, count: number, seed: number): SeriesSet {
  const example: Example = examples[name];
  const { channels, classes } = example;
  const series = splitKey(key(seed), count).map((key, i) =>
    exampleSeries(example, `${i + 1}`, i % classes.length, key)
  );
  return { name, channels, times: "number", classes, series };
}

function exampleSeries(example: Example, name: string, label: number, key: Key): Series {
  const { channels, lengths: [least, most], typical, noise, missing } = example;
  let drawn = 0;
  const uniform = () => unitPair(key, drawn++)[0];
  const length = least === most ? least : least + Math.floor((most - least + 1) * uniform());
  const curve = example.curve(label, uniform);
  // Irregular times: each observation is up to 40 % of a step away from its place.
  const times = Float64Array.from(
    { length },
    (_, t) => (t + 0.4 * (2 * uniform() - 1) * Number(t > 0)) / (typical - 1),
  );
  const values = new Float64Array(length * channels.length);
  times.forEach((time, t) => {
    const row = curve(time * (typical - 1) / (length - 1));
    row.forEach((value, c) => {
      const isMissing = uniform() < missing && t > 0;
      values[t * row.length + c] = isMissing ? NaN : value + noise * normalPair(key, 10_000 + drawn)[0];
    });
  });
  return { name, times, values, label };
}
