import { type Key, split, threefry2x32 } from "../tensor/random.ts";
import type { Series, SeriesSet } from "./series.ts";

/** Options of {@linkcode spirals}. */
export interface SpiralOptions {
  /** Observations of each spiral. 64 by default. */
  length?: number;
  /** Standard deviation of the noise on each coordinate; a spiral starts on the unit circle. 0.05 by default. */
  noise?: number;
}

/**
 * Noisy spirals in the plane that start at a random angle and wind inwards twice, every second one clockwise: a problem that
 * shows whether a model follows the order of its observations, since both classes visit the same places.
 *
 * @param count How many.
 * @param key Decides angles and noise. The same key gives the same spirals on every device.
 * @returns Two channels, x and y, observed at equal distances of time from 0 to 1.
 */
export function spirals(count: number, key: Key, options: SpiralOptions = {}): SeriesSet {
  const { length = 64, noise = 0.05 } = options;
  const series = split(key, count).map((own, i): Series => {
    const label = i % 2;
    const start = 2 * Math.PI * unit(own, 0)[0];
    const times = Float64Array.from({ length }, (_, t) => t / Math.max(1, length - 1));
    const values = new Float64Array(2 * length);
    times.forEach((time, t) => {
      const angle = start + (label === 0 ? 1 : -1) * 4 * Math.PI * time;
      const radius = 1 / (1 + 2 * Math.PI * time);
      const [dx, dy] = normalPair(own, t + 1);
      values[2 * t] = radius * Math.cos(angle) + noise * dx;
      values[2 * t + 1] = radius * Math.sin(angle) + noise * dy;
    });
    return { times, values, label };
  });
  return { name: "spirals", channels: 2, classes: ["counter-clockwise", "clockwise"], series };
}

/** Two numbers in [0, 1). */
function unit(key: Key, counter: number): [number, number] {
  const [a, b] = threefry2x32(key, [counter, 0]);
  return [a * 2 ** -32, b * 2 ** -32];
}

/** Two independent normal numbers (Box-Muller). */
function normalPair(key: Key, counter: number): [number, number] {
  const [a, b] = unit(key, counter);
  const radius = Math.sqrt(-2 * Math.log(1 - a));
  return [radius * Math.cos(2 * Math.PI * b), radius * Math.sin(2 * Math.PI * b)];
}
