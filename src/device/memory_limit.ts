/** A limit of the total memory of buffers during a computation. */

/** The buffers of a computation exceed the memory limit. */
export class MemoryLimitError extends Error {
  /** `"MemoryLimitError"`. */
  override name = "MemoryLimitError";
}

/** Memory of buffers that were allocated and not yet released. */
export interface MemoryAccount {
  /** Maximum total, in bytes. */
  readonly limit: number;
  /** Current total, in bytes. */
  used: number;
  /**
   * Number of freed buffers by size. Captured commands keep their memory and reuse it for buffers of the same
   * size.
   */
  readonly idle: Map<number, number>;
}

let current: MemoryAccount | undefined;

/**
 * Runs `body` and counts the memory of the buffers that it creates. The count does not depend on the number
 * of threads, because it excludes temporary memory of kernels.
 *
 * @param limit Maximum total in bytes. Infinity disables the count.
 * @throws {MemoryLimitError} If an allocation exceeds the limit.
 */
export function withMemoryLimit<T>(limit: number, body: () => T): T {
  const outer = current;
  current = limit === Infinity ? undefined : { limit, used: 0, idle: new Map() };
  try {
    return body();
  } finally {
    current = outer;
  }
}

/** As {@linkcode withMemoryLimit}. Returns undefined if `body` exceeds the limit. */
export function withinMemory<T>(limit: number, body: () => T): T | undefined {
  try {
    return withMemoryLimit(limit, body);
  } catch (error) {
    if (error instanceof MemoryLimitError) return undefined;
    throw error;
  }
}

/**
 * Counts a buffer before its allocation. Returns the account that counts it.
 *
 * @throws {MemoryLimitError} If the buffer exceeds the limit.
 */
export function chargeMemory(byteLength: number): MemoryAccount | undefined {
  if (!current) return undefined;
  const idle = current.idle.get(byteLength) ?? 0;
  if (idle > 0) {
    current.idle.set(byteLength, idle - 1);
    return current;
  }
  const used = current.used + byteLength;
  if (used > current.limit) {
    throw new MemoryLimitError(`the buffers take ${used} bytes, and the limit is ${current.limit} bytes`);
  }
  current.used = used;
  return current;
}

/**
 * Subtracts a freed buffer. @param isKept Whether captured commands keep its memory for buffers of the same
 * size.
 */
export function creditMemory(account: MemoryAccount, byteLength: number, isKept: boolean): void {
  if (isKept) account.idle.set(byteLength, (account.idle.get(byteLength) ?? 0) + 1);
  else account.used -= byteLength;
}
