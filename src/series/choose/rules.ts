/** Rules of the choice of a model, as functions of errors on data that the models did not learn from. */
import { meanOf, meanWithError } from "../targets/score.ts";

/** Errors of a candidate. All candidates of a comparison have errors of the same items, in the same order. */
export interface Errors {
  /** Error of each item, at least 0. Empty if training or prediction failed. */
  readonly errors: readonly number[];
  /** Errors of a trivial baseline for the same items. */
  readonly baseline: readonly number[];
  /** Number of independent items, at least 1; by default all of them. */
  readonly independent?: number;
}

/** Largest error that counts, as a multiple of the larger of the baseline's error of the item and its mean error. */
const mostErrors = 4;
/** Factor of the baseline's error that allows for rounding: the baseline itself may be a candidate. */
const rounding = 1 + 1e-9;
/** Minimum distance of a candidate that is clearly behind another one, in standard errors. */
const clearErrors = 2;

/** Errors with a bound, so that one series whose prediction explodes does not decide. */
export function boundedErrors({ errors, baseline }: Errors): number[] {
  const mean = meanOf(baseline);
  return errors.map((error, i) => Math.min(error, mostErrors * Math.max(baseline[i], mean)));
}

/** Mean difference of the bounded errors of two candidates, and its standard error. Positive if `one` is worse. */
export function differenceOf(one: Errors, other: Errors): { mean: number; standardError: number } {
  const [a, b] = [boundedErrors(one), boundedErrors(other)];
  return meanWithError(a.map((error, i) => error - b[i]), one.independent);
}

/** Whether a candidate is worse than another one by more than two standard errors. */
export function isClearlyBehind(one: Errors, other: Errors): boolean {
  const { mean, standardError } = differenceOf(one, other);
  return mean > clearErrors * standardError;
}

/** Whether the mean error of a candidate is at most that of the baseline. */
export function isUseful({ errors, baseline }: Errors): boolean {
  return meanOf(errors) <= rounding * meanOf(baseline);
}

/** Result of {@linkcode chooseSimplest}: two candidates of the list, often the same one. */
interface Choice<Candidate> {
  /** The candidate with the smallest mean of the bounded errors. */
  readonly best: Candidate;
  /** The first candidate whose mean is at most one standard error above that of the best. */
  readonly simplest: Candidate;
}

/**
 * Chooses among candidates, the simplest first. A candidate whose mean error is above that of the baseline is never
 * chosen over it: without a better candidate, the one with the smallest mean error is chosen.
 *
 * @returns Undefined if no candidate has errors.
 */
export function chooseSimplest<Candidate extends Errors>(
  candidates: readonly Candidate[],
): Choice<Candidate> | undefined {
  const scored = candidates.filter(({ errors }) => errors.length > 0);
  if (scored.length === 0) return undefined;
  const useful = scored.filter(isUseful);
  if (useful.length === 0) {
    const best = smallest(scored, ({ errors }) => meanOf(errors));
    return { best, simplest: best };
  }
  const best = smallest(useful, (one) => meanOf(boundedErrors(one)));
  const simplest = useful.find((one) => {
    const { mean, standardError } = differenceOf(one, best);
    return mean <= standardError;
  });
  return { best, simplest: simplest ?? best };
}

/** The better half of some candidates, at least one, in their order. */
export function betterHalf<Candidate extends Errors>(candidates: readonly Candidate[]): Candidate[] {
  const mean = (one: Candidate) => one.errors.length > 0 ? meanOf(boundedErrors(one)) : Infinity;
  const sorted = candidates.toSorted((a, b) => mean(a) - mean(b));
  const kept = new Set(sorted.slice(0, Math.ceil(candidates.length / 2)));
  return candidates.filter((one) => kept.has(one));
}

function smallest<T>(items: readonly T[], of: (item: T) => number): T {
  return items.reduce((best, one) => of(one) < of(best) ? one : best);
}
