/** Calls of the page to its worker. */
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import type { Calls, Fault, Look, Reply } from "./messages.ts";

/** An error of the worker, with its code. */
export class CallError extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

/** The worker, as the page sees it. */
export interface Client {
  /** Calls a function of the worker. @throws {CallError} As the function. */
  call<Name extends keyof Calls>(
    name: Name,
    ...given: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>>;
  /** Ends the worker. */
  stop(): void;
}

/** Starts the worker. @param onEpoch Called after each epoch of a training. */
export function startWorker(onEpoch: (metrics: EpochMetrics, look?: Look) => void): Client {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
    if ("epoch" in data) return onEpoch(data.epoch, data.look);
    const call = waiting.get(data.id)!;
    waiting.delete(data.id);
    if ("fault" in data) call.reject(new CallError(data.fault));
    else call.resolve(data.result);
  });
  worker.addEventListener("error", ({ message }) => {
    const text = message || "the worker of the page cannot start; reload the page";
    for (const call of waiting.values()) call.reject(new CallError({ message: text }));
    waiting.clear();
  });
  return {
    call(name, ...given) {
      const call = Promise.withResolvers<unknown>();
      waiting.set(++last, call);
      worker.postMessage({ id: last, name, given });
      return call.promise as Promise<never>;
    },
    stop: () => worker.terminate(),
  };
}
