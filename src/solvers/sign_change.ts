/**
 * Where a function between 0 and 1 changes from positive to other numbers, by the ITP method: about as many evaluations as the
 * secant method takes, and never more than one more than bisection takes. (Oliveira, Takahashi, "An enhancement of the bisection
 * method average performance preserving minmax optimality", 2020.)
 *
 * @param atZero The value at 0, which is positive.
 * @param atOne The value at 1, which is not.
 * @param tolerance The length of the interval in which the change is known to be at the end.
 * @returns The middle of that interval.
 */
export function findSignChange(
  f: (x: number) => number,
  atZero: number,
  atOne: number,
  tolerance: number,
): number {
  let [low, high] = [0, 1];
  let [atLow, atHigh] = [atZero, atOne];
  const bisections = Math.ceil(Math.log2(1 / tolerance));
  for (let i = 0; i <= bisections && high - low > tolerance; i++) {
    const middle = (low + high) / 2;
    const interpolated = (atLow * high - atHigh * low) / (atLow - atHigh);
    const toMiddle = Math.sign(middle - interpolated);
    // Beyond the change as the secant sees it, so that the other end of the interval moves too.
    const beyond = Math.max(0.2 * (high - low) ** 2, tolerance / 2);
    const truncated = beyond <= Math.abs(middle - interpolated) ? interpolated + toMiddle * beyond : middle;
    // As near to the middle as bisection would have to come with the evaluations that are left.
    const radius = tolerance / 2 * 2 ** (bisections + 1 - i) - (high - low) / 2;
    const x = Math.abs(truncated - middle) <= radius ? truncated : middle - toMiddle * radius;
    const value = f(x);
    if (value === 0) return x;
    if (value > 0) [low, atLow] = [x, value];
    else [high, atHigh] = [x, value];
  }
  return (low + high) / 2;
}
