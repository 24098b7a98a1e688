/** Budgets of comparisons of models, in seconds of a typical machine. */

/** Default budgets of the comparison of models, and of a search for settings. */
export const [autoBudget, searchBudget] = ["2m", "10m"] as const;

/** Seconds of a budget such as `90s`, `2m` or `1h`. NaN for any other text. */
export function secondsOfBudget(budget: string): number {
  const [, count, unit] = /^(\d{1,6}(?:\.\d{1,3})?) ?(s|m|min|h)$/.exec(budget) ?? [];
  return Number(count) * ({ s: 1, m: 60, min: 60, h: 3600 }[unit] ?? NaN);
}
