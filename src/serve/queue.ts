/** A queue that runs one request at a time, so that memory is needed for one request only. */
import { busy } from "./problem.ts";

/** A queue of jobs, which run one after another. */
export interface Queue {
  /** Number of running and waiting jobs. */
  readonly count: number;
  /** Runs a job after all previous jobs. @throws {RequestError} 503 if too many jobs wait. */
  run<T>(job: () => Promise<T>): Promise<T>;
  /** Resolves when all jobs are done. */
  idle(): Promise<void>;
}

/** Makes a queue with a maximum number of jobs. */
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
