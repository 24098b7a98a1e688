import type { ButcherTableau } from "../tableaus.ts";

/**
 * Heun's method of order 2, the explicit trapezoidal rule. (Heun, "Neue Methoden zur approximativen Integration der
 * Differentialgleichungen einer unabhaengigen Veraenderlichen", 1900.)
 */
export const heun2: ButcherTableau<"heun2"> = {
  kind: "explicit",
  name: "heun2",
  order: 2,
  c: [0, 1],
  a: [[1]],
  b: [1 / 2, 1 / 2],
};
