/** A limit of the total memory of buffers during a computation. */
import { type MemoryAccount, withAccount } from "./memory_account.ts";

/** The buffers of a computation exceed the memory limit. */
export class MemoryLimitError extends Error {
  /** `"MemoryLimitError"`. */
  override name = "MemoryLimitError";
}

/** An account with a maximum total in bytes. */
function accountWith(limit: number): MemoryAccount {
  let used = 0;
  /** Number of freed buffers by size. Captured commands keep their memory and reuse it for buffers of the same size. */
  const idle = new Map<number, number>();
  const idleOf = (byteLength: number) => idle.get(byteLength) ?? 0;
  return {
    charge(byteLength) {
      if (idleOf(byteLength) > 0) return void idle.set(byteLength, idleOf(byteLength) - 1);
      const total = used + byteLength;
      if (total > limit) {
        throw new MemoryLimitError(`the buffers take ${total} bytes, and the limit is ${limit} bytes`);
      }
      used = total;
    },
    credit(byteLength, isKept) {
      if (isKept) idle.set(byteLength, idleOf(byteLength) + 1);
      else used -= byteLength;
    },
  };
}

/**
 * Runs `body` and counts the memory of the buffers that it creates. The count does not depend on the number
 * of threads, because it excludes temporary memory of kernels.
 *
 * @param limit Maximum total in bytes. Infinity disables the count.
 * @throws {MemoryLimitError} If an allocation exceeds the limit.
 */
export function withMemoryLimit<T>(limit: number, body: () => T): T {
  return withAccount(limit === Infinity ? undefined : accountWith(limit), body);
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
