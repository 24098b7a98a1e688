/** Streams of series, and the messages about them. */
import type { DataRecord } from "../series/data_record.ts";
import { type ColumnNames, observationReader } from "../series/observation_stream.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "../series/predictions.ts";
import type { TrainedModel } from "../series/trained_model.ts";
import { isRecord } from "../files/json.ts";
import { jsonOf } from "./json.ts";
import type { Limits } from "./limits.ts";
import type { Counter, Histogram } from "./metrics.ts";
import { internalFailure, type ProblemFields, refusalOf, RequestError } from "./problem.ts";

/** A message to a client. */
export type Message =
  | { readonly type: "answer"; readonly time: number | string; readonly answer: Prediction }
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
}

interface Followed {
  readonly stream: PredictionStream;
  /** Client that sent the latest observation of the series. */
  readonly client: Client;
}

interface Beginning {
  readonly stream: PredictionStream;
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
  /** Stores answers for the page, and marks the server as working. */
  onPredictions(answers: readonly Prediction[]): void;
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

/** Maximum length of a series' name, in characters. */
const maxName = 256;

/**
 * Makes the streams of a service. If there are too many series, the least recently observed one is dropped.
 */
export function streamsOf(service: StreamService): Streams {
  const { model, limits, metrics, record, names } = service;
  const open = model.stream;
  /** Series with an answered observation, by name, least recently observed first. */
  const followed = new Map<string, Followed>();
  /**
   * Series without an answered observation. If the first observation is rejected, the series is not added.
   */
  const beginning = new Map<string, Beginning>();
  const readObservation = observationReader(model, record, names);

  const streamOf = (series: string) => (followed.get(series) ?? beginning.get(series))?.stream;

  const forget = (series: string) => {
    followed.delete(series);
    beginning.delete(series);
  };

  /** Adds a series, or marks it as the most recently observed. */
  const follow = (series: string, stream: PredictionStream, client: Client) => {
    forget(series);
    followed.set(series, { stream, client });
    if (followed.size > limits.streams) dropOldest();
  };

  /** Drops the least recently observed series. */
  const dropOldest = () => {
    const [series, { stream, client }] = followed.entries().next().value!;
    followed.delete(series);
    metrics.dropped.add();
    const detail = `more than ${limits.streams} streams are open, and this one was observed least recently`;
    stream.save().catch(service.onFailure)
      .then((state) => client.send({ type: "dropped", series, detail, ...(state ? { state } : {}) }));
  };

  /** Predicts a series after an observation. A rejected observation does not change the state. */
  const push = async (series: string, client: Client, time: number, values: ArrayLike<number>) => {
    const stream = streamOf(series) ?? open!(series);
    if (!streamOf(series)) beginning.set(series, { stream, unanswered: 0 });
    const begun = beginning.get(series);
    if (begun) begun.unanswered++;
    try {
      const answer = await stream.push(time, values);
      // Skip if the series was dropped or restored in the meantime.
      if (streamOf(series) === stream) follow(series, stream, client);
      return answer;
    } finally {
      if (begun && --begun.unanswered === 0 && beginning.get(series) === begun) beginning.delete(series);
    }
  };

  /** Resolves when all earlier observations are read, so that observations keep their order. */
  let reading: Promise<unknown> = Promise.resolve();

  const observe = async (message: Observation, client: Client): Promise<Message> => {
    const { series, time, values } = message;
    const read = reading.then(() => readObservation(series, time, values));
    reading = read.catch(() => {});
    const observation = await read;
    const answer = await push(series, client, observation.time, observation.values);
    service.onPredictions([answer]);
    return { type: "answer", time, answer };
  };

  const restore = (series: string, state: unknown, client: Client): Message => {
    if (!isRecord(state)) throw new RequestError(400, "expected state: the object of an earlier response");
    let stream: PredictionStream;
    try {
      stream = open!(series, state as unknown as PredictionStreamState);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      const detail = `the state is not from a stream of this model (${refusal.message})`;
      throw new RequestError(400, detail, {}, refusal.fields);
    }
    follow(series, stream, client);
    return { type: "restored", series };
  };

  const answerTo = async (
    message: Record<string, unknown>,
    series: string,
    client: Client,
  ): Promise<Message> => {
    const { type = "observation", state } = message;
    if (type === "observation") return await observe(observationOf(message, series), client);
    await reading;
    if (type === "restore") return restore(series, state, client);
    const stream = streamOf(series);
    if (!stream) throw new RequestError(404, "no stream of this series");
    if (type === "save") return { type: "state", series, state: await stream.save() };
    if (type !== "drop") {
      throw new RequestError(400, "an unknown type; expected observation, save, restore or drop");
    }
    forget(series);
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
        series = nameOf(message.series);
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
  };
}

interface Observation {
  readonly series: string;
  readonly time: number | string;
  readonly values: Readonly<Record<string, unknown>>;
}

function nameOf(series: unknown): string {
  if (typeof series === "string" && series.trim() !== "" && series.length <= maxName) return series.trim();
  throw new RequestError(400, `expected series, a name of 1 to ${maxName} characters`);
}

function observationOf({ time, values }: Record<string, unknown>, series: string): Observation {
  if (typeof time !== "number" && typeof time !== "string") {
    throw new RequestError(400, "expected time, a number or a date");
  }
  if (!isRecord(values)) throw noValues();
  return { series, time, values };
}

function noValues(): RequestError {
  return new RequestError(400, "expected values, an object with a value of at least one column");
}
