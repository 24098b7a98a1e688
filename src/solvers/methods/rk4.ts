import type { ButcherTableau } from "../tableaus.ts";

/**
 * Kutta's 3/8 rule, order 4: what torchdiffeq calls `rk4`. (Kutta, "Beitrag zur naeherungsweisen
 * Integration totaler Differentialgleichungen", 1901.)
 */
export const rk4: ButcherTableau<"rk4"> = {
  kind: "explicit",
  name: "rk4",
  order: 4,
  c: [0, 1 / 3, 2 / 3, 1],
  a: [[1 / 3], [-1 / 3, 1], [1, -1, 1]],
  b: [1 / 8, 3 / 8, 3 / 8, 1 / 8],
};
