/** Type checks of values that come from a file. */

/** An object that is no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A whole number of at least 0, or of at least `from`. */
export function isCount(value: unknown, from = 0): value is number {
  return Number.isSafeInteger(value) && value as number >= from;
}

/** A finite number. */
export function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

/** An object of finite numbers. */
export function isNumbers(value: unknown): value is Record<string, number> {
  return isRecord(value) && Object.values(value).every(isNumber);
}

/** The value that a text holds, or nothing where it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
