import type { ButcherTableau } from "../tableaus.ts";

/**
 * Ralston's method of order 2, with the least bound on the truncation error. (Ralston, "Runge-Kutta
 * methods with minimum error bounds", 1962.)
 */
export const ralston: ButcherTableau<"ralston"> = {
  kind: "explicit",
  name: "ralston",
  order: 2,
  c: [0, 2 / 3],
  a: [[2 / 3]],
  b: [1 / 4, 3 / 4],
};
