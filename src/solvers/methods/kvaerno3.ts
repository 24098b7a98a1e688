import type { ImplicitTableau } from "../tableaus.ts";

/** A root of g^3 - 3 g^2 + 3 g / 2 - 1 / 6, which makes the method L-stable: stiff parts of a solution vanish in a long step. */
const g = 0.43586652150845906;

const [a0, a1] = [(-4 * g ** 2 + 6 * g - 1) / (4 * g), (1 - 2 * g) / (4 * g)];
const [b0, b1, b2] = [
  (6 * g - 1) / (12 * g),
  1 / (12 * g * (1 - 2 * g)),
  (-6 * g ** 2 + 6 * g - 1) / (6 * g - 3),
];

/**
 * The pair of orders 3 and 2 of Kvaerno for stiff equations. No stage lies beyond the end of the step. ("Singly diagonally implicit
 * Runge-Kutta methods with an explicit first stage", 2004.) The weights for the middle have order 3 and stay bounded for
 * arbitrarily stiff equations.
 */
export const kvaerno3: ImplicitTableau<"kvaerno3"> = {
  kind: "implicit",
  name: "kvaerno3",
  order: 3,
  diagonal: g,
  c: [0, 2 * g, 1, 1],
  a: [[g], [a0, a1], [b0, b1, b2]],
  b: [b0, b1, b2, g],
  error: [b0 - a0, b1 - a1, b2 - g, g],
  middle: [0.2794049849883733, 0.7452816942108909, -0.48696240803660573, -0.03772427116265849],
};
