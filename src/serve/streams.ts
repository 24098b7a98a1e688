/** Streams of series whose observations arrive, and the messages about them. */
import type { Prediction, PredictionStream, PredictionStreamState } from "../train/predictions.ts";
import { isRecord } from "../files/json.ts";
import { jsonOf } from "./json.ts";
import { refusalOf, RequestError } from "./problem.ts";
import type { Service, ServiceMetrics } from "./service.ts";

/** A message to a client. */
export type Message =
  | { readonly type: "answer"; readonly time: number | string; readonly answer: Prediction }
  | { readonly type: "state"; readonly series: string; readonly state: PredictionStreamState }
  | { readonly type: "restored"; readonly series: string }
  | {
    readonly type: "dropped";
    readonly series: string;
    readonly detail: string;
    /** State of the stream, to go on from there. */
    readonly state?: PredictionStreamState;
  }
  | { readonly type: "error"; readonly series?: string; readonly detail: string };

/** A client that sends observations. */
export interface Client {
  /** Sends a message to the client. */
  send(message: Message): void;
}

/** All series that are streamed. */
export interface Streams {
  /** Number of them. */
  readonly count: number;
  /** Takes a client's message, and tells what came of it. It never throws. */
  take(text: string, client: Client): Promise<void>;
}

interface Kept {
  readonly stream: PredictionStream;
  /** Client that sent its latest observation. */
  client: Client;
}

/** Parts of a service that its streams use. */
type StreamService =
  & Pick<Service, "model" | "limits" | "record" | "names" | "onPredictions" | "log">
  & { readonly metrics: Pick<ServiceMetrics, "streamSeconds" | "refused" | "dropped"> };

/** Most characters of a series' name. */
const maxName = 256;

/** Series that a service follows: the least recently observed one is dropped when there are too many. */
export function streamsOf(service: StreamService): Streams {
  const { model, limits, metrics, record, names } = service;
  const open = model.stream;
  /** By name, the least recently observed first. */
  const kept = new Map<string, Kept>();
  const columns = record.columns
    ? Object.keys(record.columns)
    : record.channels.map(({ name, column = name }) => column);
  const absent = Object.fromEntries(columns.map((name) => [name, null]));

  const keep = (series: string, client: Client, state?: PredictionStreamState): PredictionStream => {
    const stream = state ? open!(series, state) : kept.get(series)?.stream ?? open!(series);
    // Behind all others.
    kept.delete(series);
    kept.set(series, { stream, client });
    return stream;
  };

  /** Drops the least recently observed series where there are too many. */
  const makeRoom = () => {
    if (kept.size <= limits.streams) return;
    const [series, { stream, client }] = kept.entries().next().value!;
    kept.delete(series);
    metrics.dropped.add();
    const detail =
      `more than ${limits.streams} series are followed, and this one was observed least recently`;
    // A series whose first observation is not computed yet, and then refused, knows nothing.
    stream.save().catch(() => undefined)
      .then((state) => client.send({ type: "dropped", series, detail, ...(state ? { state } : {}) }));
  };

  /** Prediction of a stream after an observation. A series of which nothing is known afterwards is not kept. */
  const push = async (series: string, stream: PredictionStream, time: number, values: ArrayLike<number>) => {
    try {
      return await stream.push(time, values);
    } catch (error) {
      const isKnown = await stream.save().then(() => true, () => false);
      if (!isKnown && kept.get(series)?.stream === stream) kept.delete(series);
      throw error;
    }
  };

  /** Ends when the observations so far are read: a message does not overtake those before it. */
  let reading: Promise<unknown> = Promise.resolve();

  const observe = async (message: Observation, client: Client): Promise<Message> => {
    const { series, time, values } = message;
    // A forecast is asked for by a time alone.
    if (!record.windows && Object.values(values).every((value) => value === null)) throw noValues();
    const row = { ...absent, ...values, [names.series]: series, [names.time]: time };
    const read = reading.then(() => model.series({ name: "the observation", rows: [row] }));
    reading = read.catch(() => {});
    const { series: [{ times, values: observed }] } = await read;
    const answer = await push(series, keep(series, client), times[0], observed);
    makeRoom();
    service.onPredictions([answer]);
    return { type: "answer", time, answer };
  };

  const restore = (series: string, state: unknown, client: Client): Message => {
    if (!isRecord(state)) throw new RequestError(400, "expected state, an object that was saved");
    try {
      keep(series, client, state as unknown as PredictionStreamState);
    } catch (error) {
      throw new RequestError(
        400,
        `a state that this model's streams do not save (${refusalOf(error).message})`,
      );
    }
    makeRoom();
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
    const own = kept.get(series);
    if (!own) throw new RequestError(404, "no such series is followed");
    if (type === "save") return { type: "state", series, state: await own.stream.save() };
    if (type !== "drop") {
      throw new RequestError(400, "an unknown type; expected observation, save, restore or drop");
    }
    kept.delete(series);
    return { type: "dropped", series, detail: "as asked" };
  };

  return {
    get count() {
      return kept.size;
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
        if (refusal.status === 500) service.log(error);
        metrics.refused.add();
        client.send({ type: "error", ...(series === undefined ? {} : { series }), detail: refusal.message });
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
