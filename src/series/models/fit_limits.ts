/** Numbers of series and rows that decide the sizes of fitted models, and the estimates of their operations. */

/** Maximum number of training series with the full number of random convolutions. */
export const manySeries = 1000;

/** Maximum number of random draws of the convolutions, and of training series times draws with more than one draw. */
const [maxDraws, manyDrawn] = [4, 1200];

/**
 * Number of random draws of the convolutions for a number of training series. With few series, one draw decides too much,
 * and further draws take little time.
 */
export function drawsFor(series: number): number {
  return Math.max(1, Math.min(maxDraws, Math.floor(manyDrawn / series)));
}

/** Maximum number of rows to fit trees to: one for each step of a channel. With more, some windows are left out. */
export const maxTreeRows = 50_000;
