/** Shares a thread between work that is done in parts and the events of sockets. */
import { setImmediate } from "node:timers";

/** Milliseconds between two polls of the sockets. */
const untilPoll = 8;

/** Slices of one kind of work. */
export interface Slices {
  /** Whether the slice is over: {@linkcode next} must be awaited before the next part. */
  readonly isOver: boolean;
  /** Resolves when the next slice begins, after other work and events. */
  next(): Promise<void>;
}

/** Times of the last two polls. */
let polls: readonly [before: number, last: number] = [-Infinity, -Infinity];
let polling: Promise<void> | undefined;

/** Makes slices for one kind of work. @param length Milliseconds of this work before others. */
export function makeSlices(length = 2): Slices {
  let start = performance.now();
  return {
    get isOver() {
      return polling !== undefined || performance.now() - start > length;
    },
    async next() {
      const isLate = performance.now() - polls[1] > untilPoll;
      await (polling || isLate ? pollSockets() : new Promise<void>((resolve) => void setImmediate(resolve)));
      start = performance.now();
    },
  };
}

/** A time of `performance.now()`: bytes that had arrived by then were passed to their readers. */
export function handledUntil(): number {
  return polls[0];
}

/**
 * Waits until the sockets were polled. All kinds of work wait meanwhile.
 *
 * Deno polls sockets when a thread has nothing to do, and otherwise only in each 61st turn, such as one of `setImmediate`: clients
 * would wait for 61 slices.
 */
export function pollSockets(): Promise<void> {
  return polling ??= new Promise((resolve) =>
    setTimeout(() => {
      polls = [polls[1], performance.now()];
      polling = undefined;
      resolve();
    })
  );
}
