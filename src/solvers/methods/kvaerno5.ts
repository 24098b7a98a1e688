import type { ImplicitTableau } from "../tableaus.ts";

const [fourth, fifth] = [
  [0.13855640231268224, 0, -0.04245337201752043, 0.02446657898003141, 0.61943039072480676],
  [
    0.13659751177640291,
    0,
    -0.05496908796538376,
    -0.04118626728321046,
    0.62993304899016403,
    0.06962479448202728,
  ],
];
const g = 0.26;

/**
 * The pair of orders 5 and 4 of Kvaerno for stiff equations. The third stage lies beyond the end of the step. ("Singly diagonally
 * implicit Runge-Kutta methods with an explicit first stage", 2004.) The weights for the middle have order 4. Stiff parts of a
 * solution vanish at the middle, as they do at the end.
 */
export const kvaerno5: ImplicitTableau<"kvaerno5"> = {
  kind: "implicit",
  name: "kvaerno5",
  order: 5,
  diagonal: g,
  c: [0, 0.52, 1.230333209967908, 0.8957659843500759, 0.43639360985864756, 1, 1],
  a: [
    [g],
    [0.13, 0.84033320996790809],
    [0.22371961478320505, 0.47675532319799699, -0.06470895363112615],
    [0.16648564323248321, 0.1045001884159172, 0.03631482272098715, -0.13090704451073998],
    fourth,
    fifth,
  ],
  b: [...fifth, g],
  error: [...fifth, g].map((weight, i) => weight - ([...fourth, g][i] ?? 0)),
  middle: [
    0.15974605481675913,
    0,
    0.013524374792974808,
    -0.16976865960426119,
    0.41884678934347835,
    0.006658948547797319,
    0.07099249210325226,
  ],
};
