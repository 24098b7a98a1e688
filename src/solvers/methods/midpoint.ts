import type { ButcherTableau } from "../tableaus.ts";

/** The explicit midpoint rule, order 2. (Runge, "Ueber die numerische Aufloesung von Differentialgleichungen", 1895.) */
export const midpoint: ButcherTableau<"midpoint"> = {
  kind: "explicit",
  name: "midpoint",
  order: 2,
  c: [0, 1 / 2],
  a: [[1 / 2]],
  b: [0, 1],
};
