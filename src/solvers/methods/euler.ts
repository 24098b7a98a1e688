import type { ButcherTableau } from "../tableaus.ts";

/** Euler's method, order 1. (Euler, "Institutionum calculi integralis", 1768.) */
export const euler: ButcherTableau<"euler"> = {
  kind: "explicit",
  name: "euler",
  order: 1,
  c: [0],
  a: [],
  b: [1],
};
