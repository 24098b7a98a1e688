import type { EmbeddedMethod } from "../tableaus.ts";

/**
 * Fehlberg's pair of orders 2 and 1. ("Low-order classical Runge-Kutta formulas with stepsize control", 1969.) The next
 * step begins with this one's last slope, which is taken at the state of order 1.
 */
export const fehlberg2: EmbeddedMethod<"fehlberg2"> = {
  kind: "embedded",
  name: "fehlberg2",
  order: 2,
  c: [0, 1 / 2, 1],
  a: [[1 / 2], [1 / 256, 255 / 256]],
  b: [1 / 512, 255 / 256, 1 / 512],
  error: [-1 / 512, 0, 1 / 512],
  middle: [0, 1 / 2, 0],
};
