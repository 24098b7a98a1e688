import type { ButcherTableau } from "../tableaus.ts";

/**
 * Heun's method of order 3. (Heun, "Neue Methoden zur approximativen Integration der Differentialgleichungen einer
 * unabhaengigen Veraenderlichen", 1900.)
 */
export const heun3: ButcherTableau<"heun3"> = {
  kind: "explicit",
  name: "heun3",
  order: 3,
  c: [0, 1 / 3, 2 / 3],
  a: [[1 / 3], [0, 2 / 3]],
  b: [1 / 4, 0, 3 / 4],
};
