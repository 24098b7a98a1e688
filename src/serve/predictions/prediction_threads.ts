/** Starts the threads that compute predictions. */
import { Worker } from "node:worker_threads";
import { shares } from "../account.ts";
import type { Compute } from "./compute.ts";
import type { PredictionCall, PredictionReply, PredictionStart } from "./prediction_messages.ts";
import type { PredictionThreads } from "./predictions.ts";
import { RequestError } from "../http/problem.ts";

/** Threads that compute predictions. */
export interface StartedThreads extends PredictionThreads {
  /** Ends the threads, also while they compute. */
  terminate(): Promise<void>;
}

/** MiB of the heap of a thread for code and the model, in addition to the memory for tables. */
const baseHeap = 128;

/**
 * Starts a thread for small requests, and a thread for all others.
 *
 * @param url Module that calls `computePredictions`.
 * @param onEnd Called if a thread ends by itself, after which requests fail.
 * @throws {Error} If a thread cannot open the run.
 */
export async function startPredictionThreads(
  url: URL,
  start: PredictionStart,
  onEnd: (error: unknown) => void,
): Promise<StartedThreads> {
  const [small, large] = await Promise.all([startThread(url, start, onEnd), startThread(url, start, onEnd)]);
  return {
    small: small.compute,
    large: large.compute,
    async terminate() {
      await Promise.all([small.terminate(), large.terminate()]);
    },
  };
}

async function startThread(url: URL, start: PredictionStart, onEnd: (error: unknown) => void) {
  const worker = new Worker(url, {
    workerData: start,
    env: {},
    resourceLimits: {
      maxOldGenerationSizeMb: baseHeap + Math.ceil(4 * shares.predictions * start.limits.memory / 2 ** 20),
    },
  });
  let waiting = Promise.withResolvers<PredictionReply>();
  let isEnding = false;
  worker.on("message", (reply: PredictionReply) => waiting.resolve(reply));
  worker.on("error", (error: unknown) => {
    waiting.reject(error);
    if (!isEnding) onEnd(error);
  });
  await waiting.promise;
  let count = 0;
  const call = (message: PredictionCall, transfer: ArrayBuffer[] = []) =>
    worker.postMessage(message, transfer);
  // The queue of the thread passes one request at a time.
  const compute: Compute = async (job, signal) => {
    const number = count++;
    const abort = () => call({ abort: number });
    signal.addEventListener("abort", abort);
    waiting = Promise.withResolvers();
    call({ number, job }, [job.bytes.buffer as ArrayBuffer]);
    const reply = await waiting.promise.finally(() => signal.removeEventListener("abort", abort));
    if (reply.type === "answer") return reply.answer;
    if (reply.type === "refused") {
      throw new RequestError(reply.status, reply.message, reply.headers, reply.fields);
    }
    throw reply.type === "failed" ? reply.error : new Error("a thread of predictions began again");
  };
  return {
    compute,
    async terminate() {
      isEnding = true;
      await worker.terminate();
    },
  };
}
