import { log } from "./elementary.ts";
/** Corrected Akaike information criterion (AICc). */

/**
 * AICc of a model with normal errors, up to a constant. Infinity if there are too few values.
 *
 * @param squares Sum of the squared errors.
 * @param count Number of errors.
 * @param estimated Number of estimated parameters, the variance included.
 */
export function correctedAkaike(squares: number, count: number, estimated: number): number {
  if (count - estimated - 1 <= 0) return Infinity;
  return count * log(Math.max(squares, 1e-300) / count) + 2 * estimated +
    2 * estimated * (estimated + 1) / (count - estimated - 1);
}
