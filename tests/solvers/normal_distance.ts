/**
 * The largest difference between the distribution of samples and the standard normal one (Kolmogorov and Smirnov).
 * Its p-value for n samples is about 2 exp(-2 n distance^2).
 */
export function normalDistance(samples: ArrayLike<number>): number {
  const sorted = Float64Array.from(samples).sort();
  const cdf = (x: number) => {
    // The series of Marsaglia (2004).
    let [sum, term] = [x, x];
    for (let i = 1; i < 100; i++) sum += term *= x * x / (2 * i + 1);
    return Math.abs(x) > 6 ? Number(x > 0) : 0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  };
  return sorted.reduce((worst, x, i) => {
    const p = cdf(x);
    return Math.max(worst, Math.abs(p - i / sorted.length), Math.abs(p - (i + 1) / sorted.length));
  }, 0);
}
