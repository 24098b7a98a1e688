/** A queue of requests, of which one is computed at a time, so that memory is needed for one. */
import { busy } from "./problem.ts";

/** Jobs that run one after the other. */
export interface Queue {
  /** Number of jobs that run or wait. */
  readonly count: number;
  /** Runs a job after all before it. @throws {RequestError} 503 if too many wait. */
  run<T>(job: () => Promise<T>): Promise<T>;
  /** Resolves when all that waited are done. */
  idle(): Promise<void>;
}

/** A queue of at most so many jobs. */
export function queueOf(most: number): Queue {
  let count = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    get count() {
      return count;
    },
    run(job) {
      if (count >= most) {
        return Promise.reject(busy(`${count} requests wait for their predictions: try again later`));
      }
      count++;
      const done = last.then(job).finally(() => count--);
      last = done.catch(() => {});
      return done;
    },
    idle: async () => void await last,
  };
}
