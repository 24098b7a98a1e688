import type { ImplicitTableau } from "../tableaus.ts";

/**
 * The implicit method of Euler. The difference to the trapezoidal rule estimates the error, as in Diffrax. The state at the middle
 * uses the slope at the end alone, so that stiff parts of a solution do not enter.
 */
export const implicitEuler: ImplicitTableau<"implicit_euler"> = {
  kind: "implicit",
  name: "implicit_euler",
  order: 1,
  errorOrder: 2,
  diagonal: 1,
  c: [0, 1],
  a: [[0]],
  b: [0, 1],
  error: [-0.5, 0.5],
  middle: [0, 0.5],
};
