/** Requests that wait for their turn, one being computed at a time, so that memory is needed for one. */
import { RequestError } from "./problem.ts";

/** Gives turns. */
export interface Turns {
  /** Number of those that are computed or wait. */
  readonly count: number;
  /** Runs a job when its turn comes. @throws {RequestError} 503 if too many wait. */
  take<T>(job: () => Promise<T>): Promise<T>;
  /** Resolves when all that waited are done. */
  idle(): Promise<void>;
}

/** Turns of which at most so many may wait or run. */
export function turns(most: number): Turns {
  let count = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    get count() {
      return count;
    },
    take(job) {
      if (count >= most) {
        return Promise.reject(
          new RequestError(503, `${count} requests wait for their predictions: try again later`, {
            "retry-after": "1",
          }),
        );
      }
      count++;
      const done = last.then(job).finally(() => count--);
      last = done.catch(() => {});
      return done;
    },
    idle: async () => void await last,
  };
}
