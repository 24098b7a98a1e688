import type { EmbeddedMethod } from "../tableaus.ts";

/**
 * Heun's method of order 2 with Euler's for the error. (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations
 * I", section II.4.) The next step begins with this one's last slope, which is taken at Euler's state: one evaluation a
 * step, as in a predictor-corrector method.
 */
export const adaptiveHeun: EmbeddedMethod<"adaptive_heun"> = {
  kind: "embedded",
  name: "adaptive_heun",
  order: 2,
  c: [0, 1],
  a: [[1]],
  b: [1 / 2, 1 / 2],
  error: [1 / 2, -1 / 2],
  middle: [1 / 2, 0],
};
