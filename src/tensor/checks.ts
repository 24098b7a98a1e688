/** Refuses a word that an option does not know. */
export function checkWord(operation: string, option: string, value: unknown, words: readonly string[]): void {
  if (words.includes(value as string)) return;
  const known = words.map((word) => `"${word}"`).join(", ").replace(/, ([^,]*)$/, " or $1");
  throw new RangeError(`${operation}: ${option} is ${JSON.stringify(value)}, expected ${known}`);
}
