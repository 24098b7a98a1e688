import type { EmbeddedMethod } from "../tableaus.ts";

/** Bogacki and Shampine's pair of orders 3 and 2. ("A 3(2) pair of Runge-Kutta formulas", 1989.) */
export const bosh3: EmbeddedMethod<"bosh3"> = {
  kind: "embedded",
  name: "bosh3",
  order: 3,
  c: [0, 1 / 2, 3 / 4, 1],
  a: [[1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]],
  b: [2 / 9, 1 / 3, 4 / 9, 0],
  error: [2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8],
  middle: [0, 1 / 2, 0, 0],
};
