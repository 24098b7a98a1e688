/** The account of all memory that clients cause. Every part of the server takes its bytes from one total. */
import { busy } from "./http/problem.ts";

/**
 * Shares of the total, by use. No use can take the memory of another. The memory of `predictions` is reserved
 * from the start.
 */
export const shares = {
  /** Connections: objects, headers, received bytes, and requests that wait for an earlier answer. */
  connections: 0.2,
  /** Bodies of requests until they are answered. */
  bodies: 0.2,
  /** Tables that are read, and predictions that are computed. */
  predictions: 0.2,
  /** Answers that a client has not received yet, and messages of WebSockets that wait for their answer. */
  answers: 0.2,
  /** States of streamed series. */
  streams: 0.2,
} as const;

/** A use of memory. */
export type MemoryUse = keyof typeof shares;

/** All uses of memory. */
export const memoryUses: readonly MemoryUse[] = Object.keys(shares) as MemoryUse[];

/** Bytes of the account, until it is disposed. Disposing it twice has no effect. */
export type Charge = Disposable;

/** The account of all memory that clients cause. */
export interface Account {
  /** Bytes of all uses together. */
  readonly total: number;
  /** Bytes that are taken. */
  readonly used: number;
  /** Number of requests and connections that were rejected because memory was short. */
  readonly refused: number;
  /** Bytes that a use has taken. */
  usedBy(use: MemoryUse): number;
  /** Takes bytes. @throws {RequestError} 503 if the share of the use is exhausted. */
  take(use: MemoryUse, bytes: number): Charge;
  /** Sets the function that frees answers that clients do not read. It returns whether it freed anything. */
  onShort(free: () => boolean): void;
}

/** Makes an account. @param total Bytes of all uses together. */
export function accountOf(total: number): Account {
  const taken = Object.fromEntries(memoryUses.map((use) => [use, 0])) as Record<MemoryUse, number>;
  let used = 0;
  let refused = 0;
  let free = () => false;
  const take = (use: MemoryUse, bytes: number): Charge => {
    while (taken[use] + bytes > shares[use] * total) {
      if (use === "answers" && free()) continue;
      refused++;
      throw busy("the memory for clients is exhausted: try again later");
    }
    used += bytes;
    taken[use] += bytes;
    let held = bytes;
    return {
      [Symbol.dispose]() {
        used -= held;
        taken[use] -= held;
        held = 0;
      },
    };
  };
  take("predictions", Math.floor(shares.predictions * total));
  return {
    total,
    get used() {
      return used;
    },
    get refused() {
      return refused;
    },
    usedBy: (use) => taken[use],
    take,
    onShort: (next) => void (free = next),
  };
}
