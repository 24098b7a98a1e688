/** Statistics of results. */
// Named here and not in deno.json, so that its hundred packages are fetched for these tables alone.
// deno-lint-ignore no-import-prefix
import incrmeanstdev from "npm:@stdlib/stats-incr-meanstdev@^0.2.3";

/** The mean and the (sample) standard deviation; of a single value that is zero. */
export function statistics(values: readonly number[]): { mean: number; deviation: number } {
  const accumulate = incrmeanstdev();
  values.forEach((value) => accumulate(value));
  const [mean, deviation] = Array.from(accumulate()!);
  return { mean, deviation };
}

/** "97.1 ± 0.4"; of a single value there is no spread. */
export function meanAndSpread(values: readonly number[]): string {
  const { mean, deviation } = statistics(values);
  return values.length > 1 ? `${mean.toFixed(1)} ± ${deviation.toFixed(1)}` : mean.toFixed(1);
}
