import { checkOptions, namesOf } from "../device/options.ts";
import { checkCount } from "../nn/layer.ts";
import { checkWord } from "../tensor/checks.ts";
import { type Key, splitKey } from "../tensor/random.ts";
import { normalPair, unitPair } from "./host_random.ts";
import type { Series, SeriesSet } from "./series.ts";

/** Options of {@linkcode spirals}. */
export interface SpiralOptions {
  /**
   * Number of observations of each spiral.
   *
   * @default {64}
   */
  length?: number;
  /**
   * Standard deviation of the noise on each coordinate; a spiral starts on the unit circle.
   *
   * @default {0.05}
   */
  noise?: number;
  /**
   * Number of turns around the origin.
   *
   * @default {2}
   */
  turns?: number;
  /** Radius at the time s from 0 to 1: 1 / (1 + 2 pi s), the default, or exp(-rate s). */
  decay?: "hyperbolic" | { readonly rate: number };
}

const optionNames = namesOf<SpiralOptions>()("length? noise? turns? decay?");
const decayNames = namesOf<{ rate: number }>()("rate");

/**
 * Options for the spirals of the WARP paper, which are those of Diffrax's example of a Neural CDE: x' = M x
 * over a time of 4 pi with M = [[-0.3, 2], [-2, -0.3]] and its mirror image, without noise. The paper (Nzoyem
 * et al., 2025, table 4) uses 10,000 spirals of 64 observations; Diffrax uses 100 observations.
 */
export const exponentialSpirals: SpiralOptions = {
  length: 64,
  noise: 0,
  turns: 4,
  decay: { rate: 0.3 * 4 * Math.PI },
};

/**
 * Noisy spirals in the plane that start at a random angle and wind inwards, every second one clockwise. Both
 * classes visit the same points, so a model must use the order of the observations.
 *
 * @param count Number of spirals.
 * @param key Random key of angles and noise. The same key gives the same spirals on every device.
 * @returns Two channels, x and y, observed at equidistant times from 0 to 1.
 * @throws {RangeError} If `length` is not a positive integer, `noise` is negative, or `decay` is invalid.
 */
export function spirals(count: number, key: Key, options: SpiralOptions = {}): SeriesSet {
  checkOptions("spirals", options, optionNames);
  const { length = 64, noise = 0.05, turns = 2, decay = "hyperbolic" } = options;
  checkCount("spirals", "length", length);
  if (!(noise >= 0 && noise < Infinity)) {
    throw new RangeError(`spirals: noise is ${noise}, expected a finite number of at least 0`);
  }
  if (typeof decay === "object") checkOptions("spirals: decay", decay, decayNames);
  else checkWord("spirals", "decay", decay, ["hyperbolic"]);
  const radiusAt = (time: number) =>
    decay === "hyperbolic" ? 1 / (1 + 2 * Math.PI * time) : Math.exp(-decay.rate * time);
  const series = splitKey(key, count).map((seriesKey, i): Series => {
    const label = i % 2;
    const start = 2 * Math.PI * unitPair(seriesKey, 0)[0];
    const times = Float64Array.from({ length }, (_, t) => t / Math.max(1, length - 1));
    const values = new Float64Array(2 * length);
    times.forEach((time, t) => {
      const angle = start + (label === 0 ? 1 : -1) * 2 * Math.PI * turns * time;
      const radius = radiusAt(time);
      const [dx, dy] = normalPair(seriesKey, t + 1);
      values[2 * t] = radius * Math.cos(angle) + noise * dx;
      values[2 * t + 1] = radius * Math.sin(angle) + noise * dy;
    });
    return { name: `${i + 1}`, times, values, label };
  });
  const classes = ["counter-clockwise", "clockwise"];
  return { name: "spirals", channels: ["x", "y"], times: "number", classes, series };
}
