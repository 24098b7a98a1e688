/** Type checks of values from files. */

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a safe integer of at least `from`, 0 by default. */
export function isCount(value: unknown, from = 0): value is number {
  return Number.isSafeInteger(value) && value as number >= from;
}

/** Whether a value is a finite number. */
export function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

/** Whether a value is an object of finite numbers. */
export function isNumbers(value: unknown): value is Record<string, number> {
  return isRecord(value) && Object.values(value).every(isNumber);
}

/** Parses JSON. Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON. A number beyond float64 becomes its text, so that messages about the number can state it. Returns
 * undefined if the text is not JSON.
 */
export function parseFiniteJson(text: string): unknown {
  const value = parseJson(text);
  return hasInfinity(value) ? JSON.parse(text, finiteOrText) : value;
}

function hasInfinity(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === Infinity || value === -Infinity;
  // Faster than iterators: most values are arrays of numbers.
  if (Array.isArray(value)) return value.some(hasInfinity);
  for (const name in value) if (hasInfinity((value as Record<string, unknown>)[name])) return true;
  return false;
}

function finiteOrText(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return value === Infinity || value === -Infinity ? context?.source ?? value : value;
}
