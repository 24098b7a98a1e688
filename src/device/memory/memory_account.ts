/** Memory of buffers that were allocated and not yet released. */
export interface MemoryAccount {
  /**
   * Counts a buffer before its allocation.
   *
   * @throws {Error} If the buffer exceeds a limit.
   */
  charge(byteLength: number): void;
  /** Subtracts a freed buffer. @param isKept Whether captured commands keep its memory for buffers of the same size. */
  credit(byteLength: number, isKept: boolean): void;
}

let current: MemoryAccount | undefined;

/** The account that counts new buffers. */
export function currentAccount(): MemoryAccount | undefined {
  return current;
}

/** Runs `body` with an account that counts its buffers. */
export function withAccount<T>(account: MemoryAccount | undefined, body: () => T): T {
  const outer = current;
  current = account;
  try {
    return body();
  } finally {
    current = outer;
  }
}
