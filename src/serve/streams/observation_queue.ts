/** Observations of streams that wait to be read. A table for each would take most of the server's time. */
import { isWrittenDate } from "../../data/format.ts";
import { numericForm } from "../../data/table/time_column.ts";
import type {
  NamedObservation,
  Observation,
  ObservationsReader,
} from "../../series/run/observation_stream.ts";
import { makeSlices } from "../http/slices.ts";

/** Reads observations in the order of the calls. */
export interface ObservationQueue {
  /** Reads an observation. @throws {DataError} If it is rejected. */
  read(input: NamedObservation): Promise<Observation>;
  /** Resolves when all earlier observations are read. */
  idle(): Promise<void>;
}

/** Maximum number of observations that are read as one table. */
const mostRows = 64;

/** Makes a queue that reads observations that arrive at about the same time as rows of one table. */
export function observationQueue(read: ObservationsReader): ObservationQueue {
  const waiting: { input: NamedObservation; done: PromiseWithResolvers<Observation> }[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    // Wait for the other messages of this moment.
    await Promise.resolve();
    const slices = makeSlices();
    while (waiting.length > 0) {
      if (slices.isOver) await slices.next();
      const batch = waiting.splice(0, tableLength(waiting));
      const results = batch.length > 1 ? await read(batch.map(({ input }) => input)).catch(() => []) : [];
      // Read each observation alone if one is rejected, for its message.
      const isRead = results.length === batch.length;
      for (const [i, { input, done }] of batch.entries()) {
        await (isRead ? Promise.resolve([results[i]]) : read([input])).then(
          ([one]) => done.resolve(one),
          done.reject,
        );
      }
    }
    isRunning = false;
  };
  return {
    read(input) {
      const done = Promise.withResolvers<Observation>();
      waiting.push({ input, done });
      if (!isRunning) void run();
      return last = done.promise;
    },
    idle: async () => void await last.catch(() => {}),
  };
}

/**
 * Number of the first observations that can be rows of one table: of different series, and with times of one form. A
 * table of them is read as a table of each.
 */
function tableLength(waiting: readonly { readonly input: NamedObservation }[]): number {
  const form = formOf(waiting[0].input);
  const names = new Set<string>();
  const most = form === undefined ? 1 : Math.min(waiting.length, mostRows);
  for (let i = 0; i < most; i++) {
    const { input } = waiting[i];
    names.add(input.series);
    if (names.size <= i || formOf(input) !== form) return i;
  }
  return most;
}

/** Form of a time. Undefined for times whose meaning may depend on other rows. */
function formOf({ time }: NamedObservation): string | undefined {
  if (typeof time === "number") return numericForm(time);
  return isWrittenDate(time.trim()) ? "date" : undefined;
}
