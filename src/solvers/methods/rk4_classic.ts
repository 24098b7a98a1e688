import type { ButcherTableau } from "../tableaus.ts";

/**
 * The classical Runge-Kutta method, order 4. (Kutta, "Beitrag zur naeherungsweisen Integration totaler
 * Differentialgleichungen", 1901.)
 */
export const rk4Classic: ButcherTableau<"rk4_classic"> = {
  kind: "explicit",
  name: "rk4_classic",
  order: 4,
  c: [0, 1 / 2, 1 / 2, 1],
  a: [[1 / 2], [0, 1 / 2], [0, 0, 1]],
  b: [1 / 6, 1 / 3, 1 / 3, 1 / 6],
};
