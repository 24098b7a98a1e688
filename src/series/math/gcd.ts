/** Greatest common divisor of two whole numbers, at least 0. */
export function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
