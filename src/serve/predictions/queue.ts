/** A queue that runs one request at a time, so that memory is needed for one request only. */
import { busy, RequestError } from "../http/problem.ts";

/** A queue of jobs, which run one after another. */
export interface Queue {
  /** Number of running and waiting jobs. */
  readonly count: number;
  /**
   * Runs a job after all previous jobs. A job leaves the queue if its signal aborts.
   *
   * @throws {RequestError} 503 if too many jobs wait, 400 if the client disconnects.
   */
  run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T>;
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
    run<T>(job: () => Promise<T>, signal: AbortSignal) {
      if (count >= most) {
        return Promise.reject(busy(`${count} requests wait for their predictions: try again later`));
      }
      count++;
      const result = Promise.withResolvers<T>();
      /** The job until it starts. The queue does not keep the memory of a job that has left. */
      let waiting: typeof job | undefined = job;
      const leave = () => {
        if (!waiting) return;
        waiting = undefined;
        count--;
        result.reject(new RequestError(400, "the client disconnected"));
      };
      signal.addEventListener("abort", leave);
      if (signal.aborted) leave();
      last = last.then(async () => {
        signal.removeEventListener("abort", leave);
        const start = waiting;
        waiting = undefined;
        if (start) await Promise.try(start).finally(() => count--).then(result.resolve, result.reject);
      });
      return result.promise;
    },
    idle: async () => void await last,
  };
}
