/** Streams of series, and the messages about them. */
import type { DataRecord } from "../../series/record/data_record.ts";
import {
  type ColumnNames,
  type NamedObservation,
  observationsReader,
} from "../../series/run/observation_stream.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "../../series/record/predictions.ts";
import type { TrainedModel } from "../../series/models/trained_model.ts";
import { isRecord } from "../../files/json.ts";
import type { Account, Charge } from "../account.ts";
import { jsonOf } from "../http/json.ts";
import type { Limits } from "../limits.ts";
import type { Counter, Histogram } from "../pages/metrics.ts";
import { observationQueue } from "./observation_queue.ts";
import { internalFailure, type ProblemFields, refusalOf, RequestError } from "../http/problem.ts";

/** A message to a client. */
export type Message =
  | {
    readonly type: "answer";
    readonly time: number | string;
    /** Number of observations of the series, this one included. */
    readonly count: number;
    /** Whether the series began with this observation. */
    readonly new: boolean;
    readonly answer: Prediction;
  }
  | { readonly type: "state"; readonly series: string; readonly state: PredictionStreamState }
  | { readonly type: "restored"; readonly series: string }
  | {
    readonly type: "dropped";
    readonly series: string;
    readonly detail: string;
    /** State of the stream, to continue the stream later. */
    readonly state?: PredictionStreamState;
  }
  | { readonly type: "error"; readonly series?: string; readonly detail: string } & ProblemFields;

/** A client that streams observations. */
export interface Client {
  /** Sends a message to the client. */
  send(message: Message): void;
}

/** All streamed series. */
export interface Streams {
  /** Number of streamed series. */
  readonly count: number;
  /** Handles a client's message, and sends the result to the client. Never throws. */
  take(text: string, client: Client): Promise<void>;
  /** Continues a series from a state. @throws {DataError} If the state is not from a stream of this model. */
  restore(series: string, state: PredictionStreamState): Promise<void>;
  /** Adds an observation to a series. Times and values are those that the model reads. @throws {DataError} */
  observe(series: string, time: number, values: ArrayLike<number>): Promise<void>;
  /** Drops a series. */
  drop(series: string): void;
  /** Names of all series, least recently observed first. */
  names(): string[];
  /**
   * Calls a function with the state of a series, at a moment when the state includes exactly the observations
   * that the store was given. Does not call it if the series is not streamed.
   */
  withState(series: string, take: (state: PredictionStreamState) => void): Promise<void>;
}

/** Keeps changes of streams. A promise resolves when the change is kept. */
export interface StreamJournal {
  /** Keeps an observation. @param count Number of observations of the series, this one included. */
  observed(series: string, time: number, values: ArrayLike<number>, count: number): Promise<void>;
  /** Keeps a state that replaces the one of a series. */
  replaced(series: string, state: PredictionStreamState): Promise<void>;
  /** Keeps that a series was dropped. */
  dropped(series: string): Promise<void>;
}

/** A streamed series. */
interface Followed {
  readonly stream: PredictionStream;
  /** Number of answered observations. */
  count: number;
  /** Client that sent the latest observation of the series. */
  client: Client;
  /** Memory of the state, and its size in bytes. */
  charge?: Charge;
  bytes?: number;
}

interface Beginning {
  readonly entry: Followed;
  /** Number of observations without an answer yet. */
  unanswered: number;
}

/** The part of a service that streams use. */
export interface StreamService {
  /** Model of the run. */
  readonly model: Pick<TrainedModel, "stream"> & Required<Pick<TrainedModel, "series">>;
  /** Record of the training data. */
  readonly record: DataRecord;
  /** Names of the columns of the run's table. */
  readonly names: ColumnNames;
  /** Limits of requests and streams. */
  readonly limits: Limits;
  /** Counters of streams. */
  readonly metrics: StreamMetrics;
  /** Memory of all clients. */
  readonly account: Account;
  /** Keeps the states of streams over restarts. */
  readonly store?: StreamJournal;
  /**
   * Stores answers for the page, and marks the server as working.
   *
   * @param last The last answers.
   * @param count Number of answers.
   */
  onPredictions(last: readonly Prediction[], count: number): void;
  /** Logs an internal error, and marks the server as failing. */
  onFailure(error: unknown): void;
}

/** Counters of streams. */
export interface StreamMetrics {
  /** Latency of streamed observations in seconds. */
  readonly streamSeconds: Histogram;
  /** Number of rejected stream messages. */
  readonly refused: Counter;
  /** Number of series dropped because too many were streamed. */
  readonly dropped: Counter;
}

/**
 * Makes the streams of a service. If there are too many series, or their states need too much memory, the least
 * recently observed one is dropped.
 */
export function streamsOf(service: StreamService): Streams {
  const { model, limits, metrics, record, names, account, store } = service;
  const open = model.stream;
  /** Series with an answered observation, by name, least recently observed first. */
  const followed = new Map<string, Followed>();
  /**
   * Series without an answered observation. If the first observation is rejected, the series is not added.
   */
  const beginning = new Map<string, Beginning>();
  const reading = observationQueue(observationsReader(model, record, names));

  const entryOf = (series: string) => followed.get(series) ?? beginning.get(series)?.entry;

  const forget = (series: string) => {
    followed.get(series)?.charge?.[Symbol.dispose]();
    followed.delete(series);
    beginning.delete(series);
  };

  /** Adds a series, or marks it as the most recently observed. */
  const follow = (series: string, entry: Followed, client: Client) => {
    if (followed.get(series) !== entry) forget(series);
    followed.delete(series);
    beginning.delete(series);
    entry.client = client;
    followed.set(series, entry);
    if (followed.size > limits.streams) dropOldest(`more than ${limits.streams} streams are open`);
  };

  /** Drops the least recently observed series. */
  const dropOldest = (reason: string) => {
    const [series, { stream, client }] = followed.entries().next().value!;
    forget(series);
    store?.dropped(series);
    metrics.dropped.add();
    const detail = `${reason}, and this one was observed least recently`;
    stream.save().catch(service.onFailure)
      .then((state) => client.send({ type: "dropped", series, detail, ...(state ? { state } : {}) }));
  };

  /**
   * Bytes of a state, by the number of its observations, a power of two. Measured for the first series only,
   * since states have the same form.
   */
  const stateBytes = new Map<number, Promise<number>>();

  /** Takes memory for the state of a series. Drops other series if memory is short. */
  const charge = async (series: string, entry: Followed) => {
    const count = 2 ** Math.ceil(Math.log2(entry.count));
    if (!stateBytes.has(count)) {
      const measured = entry.stream.save().then((state) => JSON.stringify(state).length, () => 0);
      stateBytes.set(count, measured);
    }
    const bytes = streamBytes + await stateBytes.get(count)!;
    if (followed.get(series) !== entry || entry.bytes === bytes) return;
    entry.bytes = bytes;
    entry.charge?.[Symbol.dispose]();
    entry.charge = undefined;
    for (;;) {
      try {
        entry.charge = account.take("streams", bytes);
        return;
      } catch {
        if (followed.size === 1) return;
        dropOldest("the memory for streams is exhausted");
        if (followed.get(series) !== entry) return;
      }
    }
  };

  /** Predicts a series after an observation. A rejected observation does not change the state. */
  const push = async (series: string, client: Client, time: number, values: ArrayLike<number>) => {
    const entry = entryOf(series) ?? { stream: open!(series), count: 0, client };
    if (!entryOf(series)) beginning.set(series, { entry, unanswered: 0 });
    const begun = beginning.get(series);
    if (begun) begun.unanswered++;
    try {
      const answer = await entry.stream.push(time, values);
      const count = ++entry.count;
      // Skip if the series was dropped or restored in the meantime.
      if (entryOf(series) === entry) {
        follow(series, entry, client);
        if (isPowerOfTwo(count)) void charge(series, entry);
        await store?.observed(series, time, values, count);
      }
      return { count, answer };
    } finally {
      if (begun && --begun.unanswered === 0 && beginning.get(series) === begun) beginning.delete(series);
    }
  };

  const observe = async (input: NamedObservation, client: Client): Promise<Message> => {
    const { series, time } = input;
    const observation = await reading.read(input);
    const { count, answer } = await push(series, client, observation.time, observation.values);
    service.onPredictions([answer], 1);
    return { type: "answer", time, count, new: count === 1, answer };
  };

  /** Continues a series from a state. @throws {DataError} If the state is not from a stream of this model. */
  const continueFrom = async (series: string, state: PredictionStreamState, client: Client) => {
    const entry: Followed = { stream: open!(series, state), count: state.count, client };
    follow(series, entry, client);
    void charge(series, entry);
    await store?.replaced(series, state);
  };

  const restore = async (series: string, state: unknown, client: Client): Promise<Message> => {
    if (!isRecord(state)) throw new RequestError(400, "expected state: the object of an earlier response");
    try {
      await continueFrom(series, state as unknown as PredictionStreamState, client);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal || refusal === error) throw error;
      const detail = `the state is not from a stream of this model (${refusal.message})`;
      throw new RequestError(400, detail, {}, refusal.fields);
    }
    return { type: "restored", series };
  };

  const answerTo = async (
    message: Record<string, unknown>,
    series: string,
    client: Client,
  ): Promise<Message> => {
    const { type = "observation", state } = message;
    if (type === "observation") return await observe(observationOf(message, series), client);
    await reading.idle();
    if (type === "restore") return await restore(series, state, client);
    const stream = entryOf(series)?.stream;
    if (!stream) throw new RequestError(404, "no stream of this series");
    if (type === "save") return { type: "state", series, state: await stream.save() };
    if (type !== "drop") {
      throw new RequestError(400, "an unknown type; expected observation, save, restore or drop");
    }
    forget(series);
    await store?.dropped(series);
    return { type: "dropped", series, detail: "as asked" };
  };

  return {
    get count() {
      return followed.size;
    },
    async take(text, client) {
      const start = performance.now();
      let series: string | undefined;
      try {
        const message = jsonOf(text, limits.jsonDepth);
        if (!isRecord(message)) throw new RequestError(400, "expected an object");
        series = nameOf(message.series, limits.nameLength);
        client.send(await answerTo(message, series, client));
      } catch (error) {
        const refusal = refusalOf(error);
        if (!refusal) service.onFailure(error);
        metrics.refused.add();
        const { message: detail, fields } = refusal ?? internalFailure;
        client.send({ type: "error", ...(series === undefined ? {} : { series }), detail, ...fields });
      }
      metrics.streamSeconds.observe((performance.now() - start) / 1000);
    },
    restore: (series, state) => continueFrom(series, state, nobody),
    async observe(series, time, values) {
      await push(series, nobody, time, values);
    },
    drop: forget,
    names: () => [...followed.keys()],
    async withState(series, take) {
      for (;;) {
        const entry = followed.get(series);
        if (!entry) return;
        const state = await entry.stream.save();
        if (followed.get(series) === entry && state.count === entry.count) return take(state);
      }
    },
  };
}

/** Client of series that continue from a store. */
const nobody: Client = { send() {} };

/** Bytes of a stream's objects, without those of its state. */
const streamBytes = 2 ** 11;

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

function nameOf(series: unknown, most: number): string {
  if (typeof series === "string" && series.trim() !== "" && series.length <= most) return series.trim();
  throw new RequestError(400, `expected series, a name of 1 to ${most} characters`);
}

function observationOf({ time, values }: Record<string, unknown>, series: string): NamedObservation {
  if (typeof time !== "number" && typeof time !== "string") {
    throw new RequestError(400, "expected time, a number or a date");
  }
  if (!isRecord(values)) throw noValues();
  return { series, time, values };
}

function noValues(): RequestError {
  return new RequestError(400, "expected values, an object with a value of at least one column");
}
