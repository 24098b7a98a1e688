import type { ButcherTableau } from "../tableau.ts";

/** Heun's method of order 2, the explicit trapezoidal rule. (Heun, 1900.) */
export const heun2: ButcherTableau = { name: "heun2", order: 2, c: [0, 1], a: [[1]], b: [1 / 2, 1 / 2] };
