/** Queues of requests for predictions. Small requests do not wait for large ones. */
import { type Compute, type ComputedAnswer, isPacked, type PredictionJob } from "./compute.ts";
import type { Limits } from "../limits.ts";
import { RequestError } from "../http/problem.ts";
import { queueOf } from "./queue.ts";

/** Computes the predictions of requests. Each function can compute in another thread. */
export interface PredictionThreads {
  /** Computes the answers to small requests. */
  readonly small: Compute;
  /** Computes the answers to all other requests. */
  readonly large: Compute;
}

/** The requests for predictions. */
export interface Predictions {
  /** Number of running and waiting requests. */
  readonly count: number;
  /** Computes the answer to a request. @throws {RequestError} 503 if too many requests wait. */
  answer(job: Omit<PredictionJob, "mostBytes">, signal: AbortSignal): Promise<ComputedAnswer>;
  /** Resolves when all requests are answered. */
  idle(): Promise<void>;
}

/** Makes a queue for small requests, and a queue for all others. */
export function predictionsOf({ small, large }: PredictionThreads, limits: Limits): Predictions {
  const queues = { small: queueOf(limits.predictions), large: queueOf(limits.predictions) };
  const answerLarge: Predictions["answer"] = (job, signal) =>
    queues.large.run(() => large({ ...job, mostBytes: limits.bodyBytes }, signal), signal);
  return {
    get count() {
      return queues.small.count + queues.large.count;
    },
    async answer(job, signal) {
      const { bytes } = job;
      if (bytes.length > limits.smallBodyBytes) return await answerLarge(job, signal);
      const mostBytes = Math.min(limits.bodyBytes, limits.smallBodyBytes);
      try {
        return await queues.small.run(() => small({ ...job, mostBytes }, signal), signal);
      } catch (error) {
        // A small compressed body that becomes large.
        const isLarge = error instanceof RequestError && error.status === 413 && isPacked(bytes) &&
          mostBytes < limits.bodyBytes;
        if (!isLarge) throw error;
        return await answerLarge(job, signal);
      }
    },
    async idle() {
      await Promise.all([queues.small.idle(), queues.large.idle()]);
    },
  };
}
